"""One worker against two, on the same class: `python benchmarks/workers.py [--submissions N] [--jobs 1,2]`."""

import argparse
import tempfile
from pathlib import Path

import classes
import measuring


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--submissions", type=int, default=700, metavar="N", help="size of the class (default: 700)")
    parser.add_argument("--jobs", default="1,2", metavar="N,N", help="numbers of workers, in order (default: 1,2)")
    options = parser.parse_args()
    rows, first = [], None
    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
        measuring.say("building the course ...")
        built = classes.build(Path(folder) / "built")
        for jobs in map(int, options.jobs.split(",")):
            measuring.say(f"grading {options.submissions} submissions with {jobs} at work ...")
            place = classes.with_class(built, Path(folder) / f"with-{jobs}", options.submissions)
            cost = classes.grade(place, "--jobs", str(jobs))
            first = first or cost
            rows.append(row(jobs, options.submissions, cost, first))
        right = classes.share_right(place)
    measuring.report(
        f"Workers (`autograder grade`, {options.submissions} submissions)",
        ["workers", "wall", "per second", "as fast as the first line", "CPU of one"],
        rows,
        f"{classes.MAKE}; {right} of the exercises are right. Whole commands, with their start and the gradebook.",
    )


def row(jobs, number, cost, first):
    """A line of the table."""
    rate = f"{number / cost.wall:.2f}"
    return [str(jobs), f"{cost.wall:.1f} s", rate, f"{first.wall / cost.wall:.2f} ×", f"{cost.cpu / number:.3f} s"]


if __name__ == "__main__":
    main()
