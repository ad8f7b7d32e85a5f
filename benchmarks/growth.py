"""What a class costs as it grows: `python benchmarks/growth.py [NN ...] [--sizes 100,1000,10000] [--kind right]`.

Grades a class of every size, then again with nothing changed. What each costs beyond the one before it is the cost of
one more submission, without the start and without what is found out about mistakes once per batch. It is also told as a
multiple of `import torch`, which depends less on the machine. Ten thousand submissions to all assignments take about an
hour, to 01 alone 20 minutes.

`--against REV` grades each class with the kit of another commit as well, directly before this one.
"""

import argparse
import contextlib
import shutil
import tempfile
from pathlib import Path

import classes
import measuring

from autograder import course

HEAD = ["submissions", "wall", "CPU", "wall of one more", "CPU of one more", "in `import torch`", "memory of the head"]
HEAD += ["again", "faster"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("assignments", nargs="*", metavar="NN", help="default: all")
    parser.add_argument("--sizes", default="100,1000,10000", metavar="N,N,…", help="default: 100,1000,10000")
    parser.add_argument("--kind", choices=classes.KINDS, default="mixed", help="of submissions (default: mixed)")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="of `autograder grade` (default: 2)")
    parser.add_argument("--against", metavar="REV", help="another commit, to be measured in turn with this tree")
    options = measuring.options(parser, assignments=["01"], sizes="1,2", jobs=1)
    names = [course.find_assignment(name).name for name in options.assignments]
    with contextlib.ExitStack() as stack:
        trees = {"": measuring.ROOT}
        if options.against:
            trees = {f"{options.against}: ": stack.enter_context(measuring.worktree(options.against)), **trees}
        place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="benchmark-")))
        rows, right = graded(place, trees, names, options)
        torch = measuring.of_import_torch()
    measuring.report(
        f"Growth (`autograder grade --jobs {options.jobs}`, {', '.join(names) or 'all assignments'})",
        HEAD,
        [row(title, size, *costs, torch) for title, size, *costs in rows],
        f"{classes.MAKE_OF_ANY if names else classes.MAKE}; {right} of the exercises of the largest class"
        " are right. Whole commands, with the gradebook."
        " “One more” is what a class costs beyond that of the next smaller one, for each submission that it has more."
        f" `import torch` takes {torch:.2f} s of CPU here. “Again” is a second run with nothing changed.",
    )


def graded(place, trees, names, options):
    """([title, size, the Cost, that of a second run, (size and Cost of the next smaller class) or None] of each class
    and tree, what share of the largest class is right); `trees` are folders by the titles of their lines.
    """
    measuring.say("building the course ...")
    built = {title: classes.build(place / f"built{n}", names, tree) for n, (title, tree) in enumerate(trees.items())}
    rows, smaller, right = [], {}, ""
    for size in map(int, options.sizes.split(",")):
        measuring.say(f"grading {size} submissions, and again ...")
        for title, tree in trees.items():
            folder = classes.with_class(built[title], place / "class", size, options.kind, names=names)
            first, again = (classes.grade(folder, "--jobs", str(options.jobs), tree=tree) for _ in range(2))
            rows.append([title, size, first, again, smaller.get(title)])
            measuring.say(f"  {title}{first.wall:.1f} s, {first.cpu:.1f} s of CPU; again {again.wall:.1f} s")
            smaller[title] = size, first
            right = classes.share_right(folder)
            shutil.rmtree(folder)
    return rows, right


def row(title, size, first, again, smaller, torch):
    """A line of the table; `smaller` is (the size, the Cost) of the next smaller class, or None."""
    one_more = ["", "", ""]
    if smaller:
        more, less = size - smaller[0], smaller[1]
        cpu = (first.cpu - less.cpu) / more
        one_more = [f"{(first.wall - less.wall) / more:.3f} s", f"{cpu:.3f} s", f"{cpu / torch:.3f}"]
    return [
        f"{title}{size}",
        f"{first.wall:.1f} s",
        f"{first.cpu:.1f} s",
        *one_more,
        f"{first.memory:.0f} MB",
        f"{again.wall:.1f} s",
        f"{first.wall / again.wall:.1f} ×",
    ]


if __name__ == "__main__":
    main()
