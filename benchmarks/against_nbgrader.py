"""Submissions per second, here and of stock nbgrader: `python benchmarks/against_nbgrader.py [NN …] …`.

Both grade the same notebooks, one after the other, the gradebook included; lesson cells are in neither. Stock is
`nbgrader autograde` as it is installed: its own preprocessors, one kernel per notebook. Its test cells run the checks
of this kit's graders in the kernel, by a plain function that imports what they need and no more (`plain.py`), on the
inputs that were drawn here. A test cell shows the points, which stock nbgrader takes over, and prints which checks
failed and why. So each score that is another one there is printed with its reason, and the command fails if there is
none.

Stock pays its start for every notebook and this kit once per command. So a larger class of the same make is graded as
well (`--larger N`), by this kit alone.
"""

import argparse
import importlib.metadata
import json
import shutil
import sys
import tempfile
from pathlib import Path

import classes
import measuring
import plain
import stock_nbgrader

from autograder import course
from autograder.grading.store import Store

BENCHMARKS = Path(__file__).resolve().parent
IN_KERNEL = """from plain import shown as _shown
_shown({exercise!r}, globals(), In)"""
LONGEST = 160  # characters of a reason that is printed


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("assignments", nargs="*", metavar="NN", help="default: all, in equal shares")
    parser.add_argument("--submissions", type=int, default=70, metavar="N", help="for both sides (default: 70)")
    parser.add_argument("--larger", type=int, default=700, metavar="N", help="for this kit alone; 0: no such class")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="of `autograder grade` (default: 2)")
    options = measuring.options(parser, assignments=["01"], submissions=1, larger=0, jobs=1)
    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
        place = Path(folder)
        measuring.say("building both courses ...")
        names = [course.find_assignment(name).name for name in options.assignments or course.assignments(classes.ROOT)]
        built = classes.build(place / "built", names)
        stock_nbgrader.generate(place / "stock", names, in_kernel)
        ours = classes.with_class(built, place / "ours", options.submissions, bare=True, names=names)
        shutil.copytree(ours / "submitted", place / "stock" / "submitted")

        measuring.say(f"grading {options.submissions} submissions here ...")
        here = classes.grade(ours, "--jobs", str(options.jobs))
        verdicts = {name: Store(ours).latest(name) for name in names}
        measuring.say(f"grading {options.submissions} submissions with stock nbgrader ...")
        there = autograde(place / "stock", verdicts)
        number = options.submissions
        rows = [row("stock `nbgrader autograde`", number, there, there, number)]
        rows.append(row(f"`autograder grade --jobs {options.jobs}`", number, here, there, number))
        if options.larger:
            measuring.say(f"grading {options.larger} submissions here ...")
            larger = classes.with_class(built, place / "larger", options.larger, bare=True, names=names)
            cost = classes.grade(larger, "--jobs", str(options.jobs))
            rows.append(row(f"`autograder grade --jobs {options.jobs}`", options.larger, cost, there, number))
        scores = classes.scores(ours), classes.scores(place / "stock")
        others = differences(*scores, verdicts, place / "stock")
        report(names, rows, len(scores[0]), others, classes.share_right(ours))
    if unexplained := [where for where, (_, reasons) in others.items() if not reasons]:
        sys.exit(f"against_nbgrader: {len(unexplained)} scores differ for no reason that is known.")


def in_kernel(grade_id, text):
    """The hidden tests of a test cell: the checks of this kit's graders, in the kernel."""
    exercise = {e.grade_id: e.name for e in course.exercises(classes.ROOT).values()}[grade_id]
    return IN_KERNEL.format(exercise=exercise)


def autograde(place, verdicts):
    """Stock `nbgrader autograde` of the whole class: its measuring.Cost, over one command for each assignment.

    Its checks get the inputs of the `verdicts` of this kit, {assignment: {student: Verdict}}.
    """
    environment = {**classes.ENVIRONMENT, "PYTHONPATH": f"{classes.ROOT}:{BENCHMARKS}"}
    costs = []
    for name, of_students in verdicts.items():
        if of_students:
            seed = str(next(iter(of_students.values())).seed)
            command = [stock_nbgrader.PROGRAM, "autograde", name]
            costs.append(measuring.run(command, place, {**environment, plain.SEED_VARIABLE: seed}))
            measuring.say(f"  {name}: {costs[-1].wall:.0f} s")
    return measuring.total(costs)


def differences(ours, stock, verdicts, place):
    """{(student, assignment, grade id): (both scores as text, why they differ)} of what stock scores in another way."""
    named = {exercise.grade_id: exercise.name for exercise in course.exercises(classes.ROOT).values()}
    found = {}
    for where, (score, _) in ours.items():
        theirs = stock[where][0] if where in stock else None
        if theirs is None or abs(score - theirs) > 1e-9:
            student, assignment, grade_id = where
            outcome = verdicts[assignment][student].exercise(named[grade_id])
            both = f"{score:g} points here, {'none' if theirs is None else f'{theirs:g}'} there"
            found[where] = both, [shortened(why) for why in reasons(outcome, errors_there(place, *where))]
    return found


def errors_there(place, student, assignment, grade_id):
    """({check: why it failed, or empty}, what the cell wrote to stderr or raised) of a test cell in stock's kernel."""
    path = place / "autograded" / student / assignment / f"{assignment}.ipynb"
    if not path.exists():
        return None, "the notebook was not graded"
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    (cell,) = (c for c in cells if c["metadata"].get("nbgrader", {}).get("grade_id") == grade_id)
    printed = "".join("".join(o["text"]) for o in cell["outputs"] if o.get("name") == "stdout")
    lines = [line for line in printed.splitlines() if line.startswith(plain.FOUND)]
    stopped = [o.get("evalue") or "".join(o.get("text", "")) for o in cell["outputs"] if costs_all(o)]
    return json.loads(lines[-1].removeprefix(plain.FOUND)) if lines else None, " ".join(stopped)


def costs_all(output):
    """Whether an output of a test cell costs all its points in stock nbgrader."""
    return output["output_type"] == "error" or output.get("name") == "stderr"


def reasons(outcome, there):
    """Why the scores of an exercise differ: its Outcome here, and `errors_there`."""
    errors, stopped = there
    if outcome.status != "graded":
        yield f"{outcome.status} here: {outcome.message}"
    if outcome.is_priced:
        names = ", ".join(diagnosis.id for diagnosis in outcome.diagnosis)
        yield f"the prices of {names} leave {outcome.by_prices:g} here, and checks {outcome.by_checks:g}"
    if stopped:
        yield f"the test cell gets nothing there: {stopped}"
    elif errors is None:
        yield "the test cell said nothing there: it did not run to its end"
    for check in outcome.checks:
        error = (errors or {}).get(check.name)
        if error is not None and check.passed != (error == ""):
            yield f"{check.name} fails {f'here: {check.reason}' if error == '' else f'there: {error}'}"


def shortened(text):
    """A text as one line of at most LONGEST characters."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"


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


def report(names, rows, number, others, right):
    """The table, and what was compared: `number` scores, and `others` that differ."""
    measuring.report(
        f"This kit and stock nbgrader: {', '.join(name[:2] for name in names)}",
        ["", "submissions", "wall", "per second", "CPU of one", "as fast as stock", "stock's CPU by this"],
        rows,
        f"{classes.MAKE if len(names) > 1 else classes.MAKE_OF_ANY}; {right} of the exercises are right. Whole commands"
        " with their start and the gradebook; no lesson cells. Stock is nbgrader"
        f" {importlib.metadata.version('nbgrader')}, one kernel per notebook. Its test cells run the checks of this"
        " kit's graders by a plain function, on the same inputs: no sandbox, no diagnosis, and so no prices of named"
        " mistakes, which raise scores here. A larger class is compared with stock's rate in the smaller one: stock"
        " starts again for every notebook.",
        f"{number - len(others)} of {number} scores are the same on both sides.",
        *(
            f"{' / '.join(where)}: {both}. {'; '.join(why) or 'No reason is known.'}"
            for where, (both, why) in others.items()
        ),
    )


if __name__ == "__main__":
    main()
