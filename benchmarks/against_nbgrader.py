"""Submissions per second, here and of stock nbgrader: `python benchmarks/against_nbgrader.py [--submissions N] …`.

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
    parser.add_argument("--submissions", type=int, default=70, metavar="N", help="for both sides (default: 70)")
    parser.add_argument("--larger", type=int, default=700, metavar="N", help="for this kit alone; 0: no such class")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="of `autograder grade` (default: 2)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
        place = Path(folder)
        measuring.say("building both courses ...")
        built = classes.build(place / "built")
        names = list(course.assignments(classes.ROOT))
        stock_nbgrader.generate(place / "stock", names, in_kernel)
        ours = classes.with_class(built, place / "ours", options.submissions, lessons=False)
        shutil.copytree(ours / "submitted", place / "stock" / "submitted")

        measuring.say(f"grading {options.submissions} submissions here ...")
        here = classes.grade(ours, "--jobs", str(options.jobs))
        measuring.say(f"grading {options.submissions} submissions with stock nbgrader ...")
        there = autograde(place / "stock", names)
        rows = [row("stock `nbgrader autograde`", options.submissions, there, there)]
        rows.append(row(f"`autograder grade --jobs {options.jobs}`", options.submissions, here, there))
        if options.larger:
            measuring.say(f"grading {options.larger} submissions here ...")
            larger = classes.with_class(built, place / "larger", options.larger, lessons=False)
            cost = classes.grade(larger, "--jobs", str(options.jobs))
            per_one = there.wall / options.submissions * options.larger
            rows.append(row(f"`autograder grade --jobs {options.jobs}`", options.larger, cost, there, per_one))
        report(rows, classes.scores(ours), classes.scores(place / "stock"), classes.share_right(ours))


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


def row(name, number, cost, stock, stock_wall=None):
    """A line of the table."""
    times = (stock_wall or stock.wall) / cost.wall
    cpu = f"{cost.cpu / number:.2f} s"
    return [name, str(number), f"{cost.wall:.1f} s", f"{number / cost.wall:.2f}", cpu, f"{times:.1f} ×"]


def report(rows, ours, stock, right):
    """The table, and what was compared."""
    theirs = {where: stock[where][0] if where in stock else None for where in ours}
    other = {w: score for w, (score, _) in ours.items() if theirs[w] is None or abs(score - theirs[w]) > 1e-9}
    measuring.report(
        "This kit and stock nbgrader",
        ["", "submissions", "wall", "per second", "CPU of one", "as fast as stock"],
        rows,
        f"{classes.MAKE}; {right} of the exercises are right. Whole commands with their start and the gradebook; no"
        f" lesson cells. Stock is nbgrader {importlib.metadata.version('nbgrader')}, one kernel per notebook, whose"
        " test cells run the checks of this kit's graders by a plain function: no sandbox, no diagnosis. A larger class"
        " is compared with stock's rate in the smaller one: stock starts anew for every notebook.",
        f"{len(ours) - len(other)} of {len(ours)} scores are the same on both sides.",
        *(f"{' / '.join(where)}: {score} points here, {theirs[where]} there." for where, score in other.items()),
    )


if __name__ == "__main__":
    main()
