"""Refuses, in one sentence, to grade with a course that has a fault (`faults.py`).

Otherwise a slip in the course could give everybody full marks, or cost everybody points, and nobody would notice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..course import Assignment
from ..errors import CourseError
from . import faults
from .store import Store


def require(
    assignment: Assignment, judge: faults.Judge, wanted: Mapping[str, float], results: Store, seed: int
) -> None:
    """Raises CourseError unless an assignment can be graded as it is. An assignment that has passed is not tried again.

    `judge` gives the verdicts on the assignment's own notebook, with the checks' own points and with the inputs of
    `seed`, which should be those of the students. `wanted` maps exercises to the points that the configuration gives
    them.
    """
    require_modules(assignment)
    require_cells(assignment)
    wanted = {e.name: wanted[e.name] for e in assignment.exercises if e.name in wanted}
    if not results.has_passed(assignment.name, wanted, seed):
        require_files(assignment)
        refuse(faults.of_grading(assignment, judge, wanted))
        results.put_passed(assignment.name, wanted, seed)


def require_modules(assignment: Assignment) -> None:
    """Raises CourseError if a module is not installed that the assignment needs."""
    if problem := assignment.lacks:
        raise CourseError(problem)


def require_cells(assignment: Assignment, cells: Sequence[Mapping[str, Any]] | None = None) -> None:
    """Raises CourseError if something is wrong with the cells of an assignment; see `faults.of_cells`."""
    refuse(faults.of_cells(assignment, cells))


def require_files(assignment: Assignment) -> None:
    """Raises CourseError if something is wrong with the checks and mistakes of an assignment's exercises."""
    for exercise in assignment.exercises:
        refuse(faults.of_files(exercise.name))


def refuse(found: Iterable[str]) -> None:
    """Raises CourseError with the first of these faults."""
    for fault in found:
        raise CourseError(fault)
