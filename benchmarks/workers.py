"""One worker against two, on the same class: `python benchmarks/workers.py [--submissions N] [--jobs 1,2]`.

Last, what this machine's cores can do at all: a command with one worker, alone and beside another like it, on courses
of their own.
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
        measuring.say("two commands with one worker each, alone and at once ...")
        rate = of_two_at_once(built, Path(folder), max(70, options.submissions // 5))
    measuring.report(
        f"Workers (`autograder grade`, {options.submissions} submissions)",
        ["workers", "wall", "per second", "as fast as the first line", "CPU of one"],
        rows,
        f"{classes.MAKE}; {right} of the exercises are right. Whole commands, with their start and the gradebook.",
        f"Two commands that have nothing in common do {rate:.2f} × as much at once as one after another here.",
    )


def of_two_at_once(built, folder, number):
    """How much more two commands on courses of their own do at once than one after another, both with one worker."""
    places = [classes.with_class(built, folder / name, number) for name in ("one", "other")]
    again = [Path(shutil.copytree(place, place.with_name(f"{place.name}-again"))) for place in places]

    def wall(place):
        return classes.grade(place, "--jobs", "1").wall

    with ThreadPoolExecutor(2) as both:
        return sum(map(wall, places)) / max(both.map(wall, again))


def row(jobs, number, cost, first):
    """A line of the table."""
    rate = f"{number / cost.wall:.2f}"
    return [str(jobs), f"{cost.wall:.1f} s", rate, f"{first.wall / cost.wall:.2f} ×", f"{cost.cpu / number:.3f} s"]


if __name__ == "__main__":
    main()
