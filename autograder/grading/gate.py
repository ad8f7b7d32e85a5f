"""Refuses, in one sentence, to grade with a course that has a fault (`course_faults.py`).

Otherwise a slip in the course could give everybody full marks, or cost everybody points, and nobody would notice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..course import Assignment
from ..errors import CourseError
from . import course_faults, trials
from .store import Store

if TYPE_CHECKING:
    from ..verdict import Verdict


def require(
    assignment: Assignment, judge: course_faults.Judge, wanted: Mapping[str, float], results: Store, seed: int
) -> list[str]:
    """Raises CourseError unless an assignment can be graded as it is. An assignment that has passed is not tried again.

    Returns a sentence for each exercise of which some checks can't be tried on this machine. As these are not known to
    pass, such an assignment is tried each time.

    `judge` gives the verdicts on the assignment's own notebook, with the checks' own points and with the inputs of
    `seed`, which should be those of the students. `wanted` maps exercises to the points that the configuration gives
    them.
    """
    require_modules(assignment)
    require_cells(assignment)
    wanted = {e.name: wanted[e.name] for e in assignment.exercises if e.name in wanted}
    if results.has_passed(assignment.name, wanted, seed):
        return []
    require_files(assignment)
    verdicts = {}

    def noted(assignment: Assignment, trial: trials.Trial) -> Verdict:
        verdicts[trial] = judge(assignment, trial)
        return verdicts[trial]

    refuse(course_faults.of_grading(assignment, noted, wanted))
    left_out = [*course_faults.left_out(verdicts[trials.SOLUTION]), *course_faults.left_out(verdicts[trials.VISIBLE])]
    if not left_out:
        results.put_passed(assignment.name, wanted, seed)
    return left_out


def require_modules(assignment: Assignment) -> None:
    """Raises CourseError if a module is not installed that the assignment needs."""
    if problem := assignment.lacks:
        raise CourseError(problem)


def require_cells(assignment: Assignment, cells: Sequence[Mapping[str, Any]] | None = None) -> None:
    """Raises CourseError if something is wrong with the cells of an assignment; see `course_faults.of_cells`."""
    refuse(course_faults.of_cells(assignment, cells))


def require_files(assignment: Assignment) -> None:
    """Raises CourseError if something is wrong with the checks and mistakes of an assignment's exercises."""
    for exercise in assignment.exercises:
        refuse(course_faults.of_files(exercise.name))


def refuse(found: Iterable[str]) -> None:
    """Raises CourseError with the first of these faults."""
    for fault in found:
        raise CourseError(fault)
