"""What a class costs as it grows: `python benchmarks/growth.py [NN ...] [--sizes 100,1000,10000] [--kind right]`.

Grades a class of every size, then again with nothing changed. What each costs beyond the one before it is the cost of
one more submission, without the start and without what is found out about mistakes once per batch. Ten thousand
submissions to all assignments take about an hour, to 01 alone 20 minutes.
"""

import argparse
import shutil
import tempfile
from pathlib import Path

import classes
import measuring

from autograder import course


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("assignments", nargs="*", metavar="NN", help="default: all")
    parser.add_argument("--sizes", default="100,1000,10000", metavar="N,N,…", help="default: 100,1000,10000")
    parser.add_argument("--kind", choices=classes.KINDS, default="mixed", help="of submissions (default: mixed)")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="of `autograder grade` (default: 2)")
    options = parser.parse_args()
    names = [course.find_assignment(name).name for name in options.assignments]
    rows, smaller = [], None
    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
        measuring.say("building the course ...")
        built = classes.build(Path(folder) / "built", names)
        for size in map(int, options.sizes.split(",")):
            measuring.say(f"grading {size} submissions, and again ...")
            place = classes.with_class(built, Path(folder) / str(size), size, options.kind, names=names)
            first = classes.grade(place, "--jobs", str(options.jobs))
            again = classes.grade(place, "--jobs", str(options.jobs))
            rows.append(row(size, first, again, smaller))
            smaller = size, first
            measuring.say("  " + " | ".join(rows[-1]))
            right = classes.share_right(place)
            shutil.rmtree(place)
    measuring.report(
        f"Growth (`autograder grade --jobs {options.jobs}`, {', '.join(names) or 'all assignments'})",
        ["submissions", "wall", "CPU", "wall of one more", "CPU of one more", "memory of the head", "again", "faster"],
        rows,
        f"{classes.MAKE_OF_ANY if names else classes.MAKE}; {right} of the exercises of the largest class"
        " are right. Whole commands, with the gradebook."
        " “One more” is what a class costs beyond that of the line above, for each submission that it has more. “Again”"
        " is a second run with nothing changed.",
    )


def row(size, first, again, smaller):
    """A line of the table; `smaller` is (the size, the Cost) of the line above, or None."""
    one_more = ["", ""]
    if smaller:
        more, less = size - smaller[0], smaller[1]
        one_more = [f"{(first.wall - less.wall) / more:.3f} s", f"{(first.cpu - less.cpu) / more:.3f} s"]
    return [
        str(size),
        f"{first.wall:.1f} s",
        f"{first.cpu:.1f} s",
        *one_more,
        f"{first.memory:.0f} MB",
        f"{again.wall:.1f} s",
        f"{first.wall / again.wall:.1f} ×",
    ]


if __name__ == "__main__":
    main()
