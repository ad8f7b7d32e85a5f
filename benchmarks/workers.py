"""One worker against two, on the same class, in turn: `python benchmarks/workers.py [--submissions N] [--rounds N]`.

Each round also measures what this machine's cores can do at all: a command with one worker, alone and beside another
like it, on courses of their own.
"""

import argparse
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import classes
import measuring


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--submissions", type=int, default=700, metavar="N", help="size of the class (default: 700)")
    parser.add_argument("--jobs", default="1,2", metavar="N,N", help="numbers of workers, in order (default: 1,2)")
    parser.add_argument("--rounds", type=int, default=1, metavar="N", help="how often, in turn (default: 1)")
    options = parser.parse_args()
    numbers = [int(jobs) for jobs in options.jobs.split(",")]
    costs, rates = {jobs: [] for jobs in numbers}, []
    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
        measuring.say("building the course ...")
        built = classes.build(Path(folder) / "built")
        for n in range(options.rounds):
            here = Path(folder) / f"round-{n}"
            for jobs in numbers:
                measuring.say(f"grading {options.submissions} submissions with {jobs} at work ...")
                place = classes.with_class(built, here / f"with-{jobs}", options.submissions)
                costs[jobs].append(classes.grade(place, "--jobs", str(jobs)))
            measuring.say("two commands with one worker each, alone and at once ...")
            rates.append(of_two_at_once(built, here, max(70, options.submissions // 5)))
        right = classes.share_right(place)
    first = costs[numbers[0]]
    measuring.report(
        f"Workers (`autograder grade`, {options.submissions} submissions, {options.rounds} rounds)",
        ["workers", "wall", "per second", "as fast as the first line", "in each round", "CPU of one"],
        [row(jobs, options.submissions, costs[jobs], first) for jobs in numbers],
        f"{classes.MAKE}; {right} of the exercises are right. Whole commands, with their start and the gradebook.",
        f"Two commands that have nothing in common do {', '.join(f'{rate:.2f}' for rate in rates)} × as much at once as"
        " one after another here.",
    )


def of_two_at_once(built, folder, number):
    """How much more two commands on courses of their own do at once than one after another, both with one worker."""
    places = [classes.with_class(built, folder / name, number) for name in ("one", "other")]
    again = [Path(shutil.copytree(place, place.with_name(f"{place.name}-again"))) for place in places]

    def wall(place):
        return classes.grade(place, "--jobs", "1").wall

    with ThreadPoolExecutor(2) as both:
        return sum(map(wall, places)) / max(both.map(wall, again))


def row(jobs, number, costs, first):
    """A line of the table: means, and how the rounds went."""
    every, alone = measuring.total(costs), measuring.total(first)
    each = ", ".join(f"{one.wall / cost.wall:.2f}" for one, cost in zip(first, costs, strict=True))
    rate = f"{number * len(costs) / every.wall:.2f}"
    cpu = f"{every.cpu / number / len(costs):.3f} s"
    return [str(jobs), f"{every.wall / len(costs):.1f} s", rate, f"{alone.wall / every.wall:.2f} ×", each, cpu]


if __name__ == "__main__":
    main()
