"""Submissions per second, here and of stock nbgrader: `python benchmarks/against_nbgrader.py [NN …] …`.

Both grade the same notebooks, one after the other, the gradebook included; lesson cells are in neither. Stock is
`nbgrader autograde` as it is installed: its own preprocessors, one kernel per notebook. Its test cells run the checks
of this kit's graders in the kernel, by a plain function that imports what they need and no more (`plain.py`). A test
cell shows the points, which stock nbgrader takes over; so it is counted how many scores are the same on both sides.

Stock pays its start for every notebook and this kit once per command. So a larger class of the same make is graded as
well (`--larger N`), by this kit alone.
"""

import argparse
import importlib.metadata
import shutil
import tempfile
from pathlib import Path

import classes
import measuring
import stock_nbgrader

from autograder import course

BENCHMARKS = Path(__file__).resolve().parent
IN_KERNEL = """from plain import score as _score
_score({exercise!r}, globals(), In)"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("assignments", nargs="*", metavar="NN", help="default: all, in equal shares")
    parser.add_argument("--submissions", type=int, default=70, metavar="N", help="for both sides (default: 70)")
    parser.add_argument("--larger", type=int, default=700, metavar="N", help="for this kit alone; 0: no such class")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="of `autograder grade` (default: 2)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
        place = Path(folder)
        measuring.say("building both courses ...")
        built = classes.build(place / "built")
        names = [course.find_assignment(name).name for name in options.assignments or course.assignments(classes.ROOT)]
        stock_nbgrader.generate(place / "stock", names, in_kernel)
        ours = classes.with_class(built, place / "ours", options.submissions, lessons=False, names=names)
        shutil.copytree(ours / "submitted", place / "stock" / "submitted")

        measuring.say(f"grading {options.submissions} submissions here ...")
        here = classes.grade(ours, "--jobs", str(options.jobs))
        measuring.say(f"grading {options.submissions} submissions with stock nbgrader ...")
        there = autograde(place / "stock", names)
        number = options.submissions
        rows = [row("stock `nbgrader autograde`", number, there, there, number)]
        rows.append(row(f"`autograder grade --jobs {options.jobs}`", number, here, there, number))
        if options.larger:
            measuring.say(f"grading {options.larger} submissions here ...")
            larger = classes.with_class(built, place / "larger", options.larger, lessons=False, names=names)
            cost = classes.grade(larger, "--jobs", str(options.jobs))
            rows.append(row(f"`autograder grade --jobs {options.jobs}`", options.larger, cost, there, number))
        report(names, rows, classes.scores(ours), classes.scores(place / "stock"), classes.share_right(ours))


def in_kernel(grade_id, text):
    """The hidden tests of a test cell: the checks of this kit's graders, in the kernel."""
    exercise = {e.grade_id: e.name for e in course.exercises(classes.ROOT).values()}[grade_id]
    return IN_KERNEL.format(exercise=exercise)


def autograde(place, names):
    """Stock `nbgrader autograde` of the whole class: its measuring.Cost, over one command for each assignment."""
    environment = {**classes.ENVIRONMENT, "PYTHONPATH": f"{classes.ROOT}:{BENCHMARKS}"}
    costs = []
    for name in names:
        if any(place.glob(f"submitted/*/{name}")):
            costs.append(measuring.run([stock_nbgrader.PROGRAM, "autograde", name], place, environment))
            measuring.say(f"  {name}: {costs[-1].wall:.0f} s")
    return measuring.total(costs)


def row(name, number, cost, stock, by_stock):
    """A line of the table; `by_stock` is how many submissions `stock` is the Cost of."""
    times = number / by_stock
    return [
        name,
        str(number),
        f"{cost.wall:.1f} s",
        f"{number / cost.wall:.2f}",
        f"{cost.cpu / number:.2f} s",
        f"{stock.wall * times / cost.wall:.1f} ×",
        f"{stock.cpu * times / cost.cpu:.1f} ×",
    ]


def report(names, rows, ours, stock, right):
    """The table, and what was compared."""
    theirs = {where: stock[where][0] if where in stock else None for where in ours}
    other = {w: score for w, (score, _) in ours.items() if theirs[w] is None or abs(score - theirs[w]) > 1e-9}
    measuring.report(
        f"This kit and stock nbgrader: {', '.join(name[:2] for name in names)}",
        ["", "submissions", "wall", "per second", "CPU of one", "as fast as stock", "stock's CPU by this"],
        rows,
        f"{classes.MAKE if len(names) > 1 else classes.MAKE_OF_ANY}; {right} of the exercises are right. Whole commands"
        " with their start and the gradebook; no lesson cells. Stock is nbgrader"
        f" {importlib.metadata.version('nbgrader')}, one kernel per notebook. Its test cells run the checks of this"
        " kit's graders by a plain function: no sandbox, no diagnosis, and so no prices of named mistakes, which raise"
        " scores here. A larger class is compared with stock's rate in the smaller one: stock starts again for every"
        " notebook.",
        f"{len(ours) - len(other)} of {len(ours)} scores are the same on both sides.",
        *(f"{' / '.join(where)}: {score} points here, {theirs[where]} there." for where, score in other.items()),
    )


if __name__ == "__main__":
    main()
