"""`autograder name`: gives a group of equal wrong answers, and all later ones like it, the instructor's sentence."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .. import course
from ..course import Assignment
from ..errors import Unreadable, UsageError
from ..grading.store import Store, write
from ..groups import alike, names
from ..groups.grouping import Group, Grouping, Member, cells_of, grouped
from ..groups.names import Name
from ..report.outcome_text import name_of, points
from ..submission.read import StrPath, read_notebook
from ..submission.restore import RestoredCell, restore
from ..verdict import Graded
from .tasks import Task

if TYPE_CHECKING:
    from ..grading.grader import Grader
    from .run import Engine

TRIED = 3  # students of a group among whose answers an example is looked for


def grade_examples(
    engine: Engine, results: Store, assignment: Assignment, seeds: Iterable[int], device: str, sandbox: str
) -> None:
    """Grade the examples of all names for this assignment on the inputs of these seeds, unless results are stored."""
    tasks = []
    given = [name for exercise in assignment.exercises for name in results.names.of(exercise.name)]
    for seed in sorted(seeds):
        for name in given:
            key = results.key(name.digest, assignment.name, seed, device, sandbox)
            if not results.has(key):
                tasks.append(Task("", key, name.data, assignment.name, seed))
    if not tasks:
        return
    for task, graded in engine.graded(iter(tasks), len(tasks)):
        results.put(task.key, graded)


def listing(root: StrPath) -> str:
    """The names that a course has given, and the groups that have none yet, one line each."""
    results, lines = Store(root), []
    for name in results.names.given.values():
        costs = "" if name.price is None else f"−{points(name.price)}: "
        lines.append(f"{name.id}  {costs}{name.says}")
    for assignment in course.assignments().values():
        for group in grouped(results.each(assignment.name)).all():
            many = len(group.members)
            said = f"no name yet, {many} student{'' if many == 1 else 's'}: {', '.join(map(name_of, group.students))}"
            lines.append(f"{group.id}  {said}")
    return "\n".join(lines) or "No answers are named, and no graded answer waits for a name."


def rename(root: StrPath, id: str, says: str, price: float | None = None) -> str | None:
    """Give an existing name another sentence, and a price if there is one; returns a message for the user, or None if
    there is no such name.
    """
    given = {name.id: name for name in names.read(root)}
    if id not in given:
        return None
    costs = given[id].price if price is None else _price(id, price)
    given[id] = Name(id, names.sentence(says), given[id].code, costs)
    _write(root, given.values())
    return f"{id} has a new sentence now. {_next(id, price)}"


def remove(root: StrPath, id: str) -> str:
    """Remove a name; returns a message for the user. Raises UsageError."""
    given = {name.id: name for name in names.read(root)}
    if id not in given:
        known = ", ".join(given) or "none"
        raise UsageError(f"There is no name {id!r} to remove. The names of this course: {known}.")
    del given[id]
    _write(root, given.values())
    return f"{id} has no name any more. {_next(id)}"


@dataclass(frozen=True)
class Answers:
    """The wrong answers without a name: in `groups`, and the cells of the notebook that a member's is in.

    `cells` raises Unreadable.
    """

    groups: Grouping
    cells: Callable[[Member], list[RestoredCell]]


@dataclass(frozen=True)
class Judge:
    """Grades examples: `graded` has the Graded of a notebook, alone, on the inputs of a seed."""

    graded: Callable[[bytes, int], Graded]
    device: str
    sandbox: str


def by_grader(grader: Grader, assignment: Assignment, device: str) -> Judge:
    """The Judge that a Grader is."""

    def graded(data: bytes, seed: int) -> Graded:
        restored = restore(read_notebook(data), assignment.cells, assignment)
        return grader.grade_cells(restored, assignment.exercises, seed, "", assignment.name, alone=True)

    return Judge(graded, device, grader.parent.level)


def graded_answers(root: StrPath, assignment: Assignment) -> Answers:
    """Those of the submissions that were graded."""
    return Answers(
        grouped(Store(root).each(assignment.name)), lambda member: cells_of(root, assignment, member.student)
    )


def give(root: StrPath, id: str, says: str, judge: Judge, answers: Answers, price: float | None = None) -> str:
    """Name a group, and set how many points it costs if scores are by prices; returns a message for the user. Raises
    UsageError.

    The answer that becomes its example must do the same again: one that depends on chance cannot be recognised.
    """
    says, costs = names.sentence(says), _price(id, price)
    assignment = assignment_of(id)
    results = Store(root)
    groups = answers.groups
    group = groups.find(id)
    if group is None:
        number = assignment.name.split("_")[0]
        raise UsageError(
            f"There is no group {id} without a name: the page of `autograder report {number}` lists the groups."
        )
    for code, seed, graded in _tried(answers, group, judge):
        outcome = graded.verdict.exercise(group.exercise)
        if outcome and graded.final and alike.equal(outcome.fingerprint, group.members[0].outcome.fingerprint):
            name = Name(id, says, code, costs)
            found = {seed: graded}
            same = [other for other in groups.all() if other.exercise == group.exercise and other.id != group.id]
            for other in {member.seed for each in same for member in each.members} - {seed}:
                found[other] = judge.graded(names.notebook(code), other)
            for drawn, its in found.items():
                results.put(results.key(name.digest, assignment.name, drawn, judge.device, judge.sandbox), its)
            alike_too = [other for other in same if _is_like(other, found)]
            _write(root, [*results.names.given.values(), name])
            who = ", ".join(map(name_of, sorted(s for each in [group, *alike_too] for s in each.students)))
            return (
                f"{id} has a name now, which is shown to {who}, and to later students with such an answer."
                f" {_next(id, price)}"
            )
    raise UsageError(
        f"{id} cannot be named: none of its answers is still there and does the same again, perhaps because"
        " they depend on chance. Grade the assignment again, and look at its report."
    )


def assignment_of(id: str) -> Assignment:
    """The assignment with the exercise of a group. Raises UsageError."""
    exercise = id.rpartition("-")[0]
    if not names.ID.fullmatch(id) or exercise not in course.exercises():
        raise UsageError(f"{id!r} is not a group of this course: `autograder name` lists the groups.")
    return course.find_assignment(course.exercises()[exercise].assignment)


def _tried(answers: Answers, group: Group, judge: Judge) -> Iterator[tuple[tuple[tuple[str, str], ...], int, Graded]]:
    """Candidates for the example of a group: the code, the seed of its inputs, and the result, one after another.

    An answer is tried with as little of its notebook as may suffice, then with all of it.
    """
    from ..checks.source_text import without_comments  # with which torch comes

    for member in group.members[:TRIED]:
        try:
            cells = answers.cells(member)
        except Unreadable as problem:
            print(f"autograder: {name_of(member.student)}: {problem}", file=sys.stderr)
            continue
        for kept in (_needed(cells, group.exercise), [cell for cell in cells if _is_own(cell)]):
            code = tuple((cell.known.grade_id if cell.known else "", without_comments(cell.source)) for cell in kept)
            yield code, member.seed, judge.graded(names.notebook(code), member.seed)


def _is_like(group: Group, example: Mapping[int, Graded]) -> bool:
    """Whether answers of another round are like an example, given its results by seed."""
    graded = example.get(group.members[0].seed)
    outcome = graded and graded.verdict.exercise(group.exercise)
    return outcome is not None and alike.equal(outcome.fingerprint, group.members[0].outcome.fingerprint)


def _is_own(cell: RestoredCell) -> bool:
    """Whether it is code of the student's that runs."""
    return cell.runs and not (cell.known and cell.known.locked)


def _needed(cells: Sequence[RestoredCell], exercise: str) -> list[RestoredCell]:
    """A student's cells without those that answer other exercises."""
    others = course.exercises().keys() - {exercise}
    kept = []
    for cell in filter(_is_own, cells):
        defined = course.defined_in(cell.source)
        if exercise in defined or not defined & others:
            kept.append(cell)
    return kept


def _write(root: StrPath, given: Iterable[Name]) -> None:
    path = Path(root) / names.FILE
    write(path, names.text_of(given))
    path.chmod(0o644)


def _price(id: str, price: float | None) -> float | None:
    """The price of a group, which is at most what its exercise is worth. Raises UsageError."""
    exercise = course.exercises().get(id.rpartition("-")[0])
    if price is not None and exercise and price > exercise.points:
        raise UsageError(f"{exercise.name} is worth {points(exercise.points)} points: {id} cannot cost more.")
    return names.price(price)


def _next(id: str, price: float | None = None) -> str:
    """What to do next: a price counts once the assignment is graded again."""
    exercise = id.rpartition("-")[0]
    found = course.exercises().get(exercise)
    number = found.assignment.split("_")[0] if found else "NN"
    if price is None:
        return f"`autograder report {number}` writes the feedback with it."
    return f"`autograder grade {number}` gives the scores, if they are by prices."
