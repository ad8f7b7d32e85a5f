"""The faults of a course that would make grades wrong, as sentences for the instructor.

Each function yields one sentence for each fault: where it is, and what to do. `gate.py` refuses the first, `autograder
doctor` prints them all.
"""

from __future__ import annotations

import ast
import difflib
import inspect
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from .. import course, installed
from ..course import EXERCISE, HIDDEN, Assignment, source_of
from ..errors import CourseError, KitError
from ..verdict import NOT_HERE
from . import trials

if TYPE_CHECKING:
    from ..verdict import Outcome, Verdict

Judge: TypeAlias = Callable[[Assignment, trials.Trial], "Verdict"]  # on the course's own notebook

MARKS = [
    f"### {end} {what}" for what in ("SOLUTION", "ORIGINAL", "HIDDEN TESTS", "MARK SCHEME") for end in ("BEGIN", "END")
]
LIKE_A_MARK = re.compile(r"^[ \t]*#+[ \t]*(?:BEGIN|END)\b.*$", re.MULTILINE | re.IGNORECASE)
NEAR = 0.8  # how alike a line and a mark are, as difflib has it, if one is a slip for the other
HOW_TO_GRADE = "in JupyterLab's panel Create Assignment, mark it as Autograder tests"


# --- the source notebook --------------------------------------------------------------------------


def of_source(folder: Path) -> Iterator[str]:
    """Faults of the folders in a course's `source/`: a notebook there that belongs to no assignment."""
    for place in sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith(".")):
        own = f"{place.name}.ipynb"
        found = sorted(path.name for path in place.glob("*.ipynb"))
        if found and own not in found:
            yield (
                f"source/{place.name} holds {found[0]} and no {own}, so it is not an assignment: give the folder and"
                " its notebook the same name."
            )
        elif len(found) > 1:
            other = next(name for name in found if name != own)
            yield (
                f"source/{place.name} holds {other} beside {own}, and only {own} would be graded: move {other} into a"
                " folder of its own."
            )


def of_cells(assignment: Assignment, cells: Sequence[Mapping[str, Any]] | None = None) -> Iterator[str]:
    """Faults of an assignment's cells; `cells` are those of its source notebook, parsed, if they are at hand."""
    name, graded = assignment.name, Counter(e.name for e in assignment.exercises)
    ids: Counter[str] = Counter()
    for cell in course.cells_in(assignment.path) if cells is None else cells:
        meta = cell["metadata"].get("nbgrader") or {}
        id = str(meta.get("grade_id") or cell.get("id"))
        ids[id] += "nbgrader" in cell["metadata"]
        yield from _of_marks(f"{name}: the cell {id!r}", source_of(cell))
        if ids[id] == 2:
            yield f"{name}: two cells have the id {id!r}: give one of them another, in the panel Create Assignment."
        yield from _of_cell(f"{name}: the cell {id!r}", cell, meta)
    for cell in assignment.cells:
        if cell.grade and not cell.solution and cell.cell_type == "code":
            yield from _of_exercise(assignment, cell)
    for exercise, many in graded.items():
        if many > 1:
            yield (
                f"{name}: {many} graded cells name the exercise {exercise!r}, which would give its points {many} times:"
                " let one cell grade it."
            )


def _of_marks(where: str, source: str) -> Iterator[str]:
    """Misspelt marks: the lines between them would be released, or not be graded."""
    for line in (found[0].strip() for found in LIKE_A_MARK.finditer(source)):
        plain = " ".join(line.lstrip("# \t").upper().split())
        near = difflib.get_close_matches(f"### {plain}", MARKS, n=1, cutoff=NEAR)
        if near and line not in MARKS:
            yield f"{where} has the line {line[:60]!r}, which has no effect: did you mean {near[0]!r}?"


def _of_cell(where: str, cell: Mapping[str, Any], meta: Mapping[str, Any]) -> Iterator[str]:
    source, points = source_of(cell), meta.get("points", 0)
    is_number = isinstance(points, (int, float)) and not isinstance(points, bool)
    if meta.get("task"):
        yield f"{where} is an nbgrader task, which this kit does not grade: make it a Manually graded answer."
    elif not meta.get("grade"):
        if HIDDEN in source:
            yield f"{where} has hidden tests and is not graded, so nobody would get its points: {HOW_TO_GRADE}."
        elif points:
            yield f"{where} has points and is not graded, so nobody would get them: {HOW_TO_GRADE}, or set 0 points."
    elif not meta.get("solution") and cell["cell_type"] != "code":
        yield f"{where} is graded and is text that students cannot change: make it a Manually graded answer."
    elif not is_number or not 0 <= points < math.inf:
        yield f"{where} is worth {points!r} points: give it a number from 0 up."
    elif len(named := EXERCISE.findall(source)) > 1:
        yield f"{where} names {len(named)} exercises ({', '.join(named)}): one cell grades one exercise."
    elif named and (meta.get("solution") or cell["cell_type"] != "code"):
        yield f"{where} is an answer and names the exercise {named[0]!r}: give its check a code cell of its own."


def _of_exercise(assignment: Assignment, cell: course.Cell) -> Iterator[str]:
    """Faults of a cell of code that is graded, and that students cannot change."""
    if cell.exercise is None:
        yield (
            f"{assignment.name}: the graded cell {cell.grade_id!r} belongs to no exercise, so nobody would get its"
            " points. Its source should end with the three lines '### BEGIN HIDDEN TESTS', '# exercise: NAME' and"
            " '### END HIDDEN TESTS'; a cell that only students run should not be graded."
        )
        return
    try:
        file = course.file_of(cell.exercise, "checks")
    except CourseError as problem:  # two packages have it
        yield f"{assignment.name}: {problem}"
        return
    if file is None:
        unusable = "".join(f" {problem}" for problem in installed.problems())
        yield (
            f"{assignment.name}: there are no checks for the exercise {cell.exercise!r} of the cell {cell.grade_id!r}:"
            f" they belong in exercises/{cell.exercise}/checks.py.{meant(cell.exercise, _folders())}{unusable}"
        )


def _folders() -> list[str]:
    """The names of all exercises that have checks, the course's own first."""
    return [path.parent.name for place in course.exercise_folders() for path in sorted(place.glob("*/checks.py"))]


def how_to_waive(exercise: str, checks: Sequence[str] = ()) -> str:
    """A sentence on what to do where an edit of a check was meant to give everybody its points."""
    listed = ", ".join(f'"{name}"' for name in checks or ("test_…",))
    return (
        " If a check was unfair, undo the edit, and give everybody its points by c.Exercises.waived ="
        f' {{"{exercise}": [{listed}]}} in nbgrader_config.py.'
    )


def meant(name: str, known: Sequence[str], most: int = 1) -> str:
    """A sentence that suggests the known names nearest to a misspelt one, at most so many; empty if none is near."""
    near = difflib.get_close_matches(name, known, n=most)
    return f" Did you mean {' or '.join(map(repr, near))}?" if near else ""


# --- the exercises' files -------------------------------------------------------------------------


def of_files(exercise: str) -> Iterator[str]:
    """Faults of an exercise's checks.py and mistakes.py, which are imported."""
    yield from _said(_of_checks, exercise)
    if course.file_of(exercise, "mistakes") is not None:
        yield from _said(_of_mistakes, exercise)


def _said(look: Callable[[str], Iterator[str]], exercise: str) -> Iterator[str]:
    """The faults that `look` yields for an exercise, and the KitError that ends it, if one does."""
    try:
        yield from look(exercise)
    except KitError as error:
        yield str(error)


def _of_checks(exercise: str) -> Iterator[str]:
    from ..checks.runner import checks_of, collected

    found = collected(exercise, checks_of(exercise))
    path = course.folder_of(exercise) / "checks.py"
    codes = [inspect.unwrap(getattr(one.test, "__func__", one.test)).__code__ for one in found]
    called = {code.co_firstlineno for code in codes if Path(code.co_filename).resolve() == path.resolve()}
    for check in _marked(ast.parse(path.read_text(encoding="utf-8"))):
        if check.decorator_list[0].lineno not in called:
            yield (
                f"{exercise}/checks.py marks {check.name} in line {check.lineno} with `@check(…)`, but it is never"
                " called: its name must begin with test_, that of its class with Test, and be unique."
            )


def _marked(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """The functions that `@check(…)` marks, but for those of a class on which another of the file builds."""
    bases = {
        base.id
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for base in node.bases
        if isinstance(base, ast.Name)
    }
    families = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and node.name in bases]
    left_out = {id(part) for family in families for part in ast.walk(family)}
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and id(node) not in left_out:
            marks = [mark.func for mark in node.decorator_list if isinstance(mark, ast.Call)]
            if any(isinstance(mark, ast.Name) and mark.id == "check" for mark in marks):
                yield node


def _of_mistakes(exercise: str) -> Iterator[str]:
    from ..mistakes.bank import Bank, mistakes_of

    file = f"{exercise}/mistakes.py"
    try:
        bank = mistakes_of(exercise).BANK
    except AttributeError:
        yield f'{file} has no BANK: it should hold BANK = Bank("{exercise}", …).'
        return
    if not isinstance(bank, Bank) or bank.exercise != exercise:
        got = f"that of {bank.exercise}" if isinstance(bank, Bank) else f"a {type(bank).__name__}"
        yield f'{file} has a BANK that is {got}: it should be Bank("{exercise}", …).'
        return
    for mistake in (*bank.values(), *bank.variants):
        try:
            mistake.namespace()
        except Exception as error:
            which = f"variant {mistake.variant} of {mistake.id}" if mistake.variant else mistake.id
            said = f"{type(error).__name__}: {error}"
            yield f"{file}: the text of {which} cannot be run, so the mistake would never be named: {said}."


# --- what grading gives ---------------------------------------------------------------------------


def of_grading(assignment: Assignment, judge: Judge, wanted: Mapping[str, float]) -> Iterator[str]:
    """Faults that show when the course's own notebook is graded; `judge` gives the verdict on each of `trials.TRIALS`.

    `wanted` maps exercises to the points that the configuration gives them.
    """
    solution = judge(assignment, trials.SOLUTION)
    if lost := list(_of_solution(solution)):
        yield from lost
        return
    yield from _of_points(assignment, solution, wanted)
    yield from _of_visible_checks(judge(assignment, trials.VISIBLE))
    for trial in (trials.RELEASED, trials.RAISES, trials.EMPTY):
        for outcome in judge(assignment, trial).exercises:
            yield from _of_stub(assignment, outcome, trial)


def _of_solution(verdict: Verdict) -> Iterator[str]:
    for outcome in verdict.exercises:
        failed = next((check for check in outcome.checks if not check.passed), None)
        if outcome.status == "graded" and outcome.max_score and not sum(check.points for check in outcome.checks):
            yield (
                f"{verdict.assignment}: none of the checks of {outcome.exercise} that give points can be tried on this"
                f" machine, so it can't be graded here. {outcome.skipped[0]['message'] if outcome.skipped else ''}"
            ).rstrip()
        elif outcome.status != "graded" or failed is not None:
            why = f"{failed.name} in its checks.py says: {failed.message}" if failed else outcome.message
            why = f"{outcome.unjudged}." if outcome.unjudged else why
            yield (
                f"{verdict.assignment}: the solution of {outcome.exercise} in source/ does not get full marks, so"
                f" nothing is graded. {why}"
            )


def _of_points(assignment: Assignment, verdict: Verdict, wanted: Mapping[str, float]) -> Iterator[str]:
    """Cells that are not worth what their checks, or the configuration, say; `verdict` is that on the solution."""
    for exercise in assignment.exercises:
        outcome = verdict.exercise(exercise.name)
        worth = outcome.max_score if outcome else 0.0  # that of all its checks, also of those that can't be tried here
        right = wanted.get(exercise.name, worth)
        if exercise.points != right:
            yield (
                f"{assignment.name}: the cell {exercise.grade_id!r} is worth {exercise.points:g} points, and"
                f" {exercise.name} is worth {right:g}. To make it worth {exercise.points:g}, write c.Exercises.points ="
                f' {{"{exercise.name}": {exercise.points:g}}} into nbgrader_config.py; otherwise run `autograder'
                f" build`, or give the cell {right:g} points again."
            ) + (how_to_waive(exercise.name) if right < exercise.points and exercise.name not in wanted else "")


def _of_visible_checks(verdict: Verdict) -> Iterator[str]:
    for outcome in verdict.exercises:
        if not outcome.full:
            yield (
                f"{verdict.assignment}: the visible check of {outcome.exercise} fails for the course's own solution, so"
                f" every right answer would look wrong: {outcome.message} Correct the check in source/ (cells tagged"
                " `lesson` do not run before it)."
            )


def left_out(verdict: Verdict) -> Iterator[str]:
    """A sentence for each exercise and reason for which checks can't be tried on this machine, and give points.

    `verdict` is that on the solution, or on its visible checks. Checks of 0 points, as those on a GPU, cost nothing.
    """
    from ..checks.runner import checks_of, collected

    for outcome in verdict.exercises:
        worth = {check.name: check.points for check in collected(outcome.exercise, checks_of(outcome.exercise))}
        reasons: dict[str, list[str]] = {}
        for one in outcome.skipped:
            if worth.get(one["name"], 1):  # a visible check has no points of its own
                reasons.setdefault(one["message"].rpartition(NOT_HERE)[2].rstrip("."), []).append(one["name"])
        for reason, names in reasons.items():
            gone = [name for name in names if name in worth]
            what = f"{' and '.join(gone)} of {outcome.exercise}" if gone else f"the visible check of {outcome.exercise}"
            points = ", and the points go to its other checks" if gone else ""
            yield f"{verdict.assignment}: {what} can't be tried here{points}: {reason}."


def _of_stub(assignment: Assignment, outcome: Outcome, trial: trials.Trial) -> Iterator[str]:
    """Points for nothing. An original that is to be fixed may earn points for what it does right, but not all."""
    passed = [check.name for check in outcome.checks if check.passed and check.points]
    if not passed:
        return
    name, exercise = assignment.name, outcome.exercise
    of = f"{outcome.score:g} of {outcome.max_score:g} points"
    because = f"{' and '.join(passed)} in {exercise}/checks.py"
    waive = how_to_waive(exercise, passed)
    if trial != trials.RELEASED:
        does = "raises NotImplementedError" if trial == trials.RAISES else "returns None"
        yield f"{name}: an answer to {exercise} that only {does} gets {of}: {because} must not pass it.{waive}"
    elif course.original_of(course.solution_of(exercise).source) is None:
        yield f"{name}: {exercise} as it is released gets {of}: {because} must not pass it.{waive}"
    elif outcome.score >= outcome.max_score:
        yield (
            f"{name}: the original of {exercise} gets {of} as it is released, so there is nothing to fix: add a check."
            f"{waive}"
        )
