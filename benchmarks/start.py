"""How long a command takes from nothing: `python benchmarks/start.py [--runs N]`: `autograder check` and `--help`.

Every run is a process of its own. Files are in the system's cache, as when a command is used for the second time.
"""

import argparse
import statistics
import sys

import classes
import measuring

NAME = "02_queries_keys_values"
AUTOGRADER = [sys.executable, "-m", "autograder"]
COMMANDS = {
    "`autograder --help`": [*AUTOGRADER, "--help"],
    f"`autograder check` of one notebook ({NAME})": [*AUTOGRADER, "check", f"solutions/{NAME}/{NAME}.ipynb"],
    "`import torch` alone": [sys.executable, "-c", "import torch"],
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=7, metavar="N", help="of every command, in turn (default: 7)")
    runs = parser.parse_args().runs
    costs = {name: [] for name in COMMANDS}
    for _ in range(runs):
        for name, command in COMMANDS.items():
            costs[name].append(measuring.run(command, classes.ROOT, classes.ENVIRONMENT))
            if costs[name][-1].code:
                raise SystemExit(costs[name][-1].output)
    measuring.report(
        f"Start (medians of {runs})",
        ["", "wall", "CPU"],
        [row(name, found) for name, found in costs.items()],
        "`autograder check` imports torch twice at the same time, in the grading process and in the sandbox.",
    )


def row(name, costs):
    """A line of the table."""
    wall, cpu = (statistics.median(values) for values in zip(*((c.wall, c.cpu) for c in costs), strict=True))
    return [name, f"{wall:.2f} s", f"{cpu:.2f} s"]


if __name__ == "__main__":
    main()
