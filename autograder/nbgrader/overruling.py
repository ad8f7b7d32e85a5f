"""Points that a person gives an exercise in place of its checks: in nbgrader's gradebook, as Formgrader keeps them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbgrader.api import MissingEntry

from ..errors import UsageError
from ..grading.store import Store
from ..report.outcome_text import points as shown
from .standings import standings

if TYPE_CHECKING:
    from .. import course
    from ..report.gradebook_marks import Mark
    from .runs import NbgraderCourse


def mark_of(runs: NbgraderCourse, assignment: course.Assignment, exercise: str, student: str) -> Mark | None:
    """What the gradebook has of a student's exercise; None if it has no graded hand-in of theirs."""
    with runs.gradebook() as gradebook:
        found = standings(gradebook, Store(runs.root), assignment, student).get(student)
    return found.of_exercise(exercise) if found else None


def set_points(runs: NbgraderCourse, assignment: course.Assignment, exercise: str, student: str, points: float) -> None:
    """Give a student's exercise these points, whatever its checks found. Raises UsageError."""
    mark = mark_of(runs, assignment, exercise, student)
    if mark is None:
        raise UsageError(
            f"The gradebook has no grade of {student} in `{exercise}` yet: collect and grade {assignment.name} first."
        )
    if not 0 <= points <= mark.max_score:  # NaN is refused, too
        raise UsageError(f"`{exercise}` has 0 to {shown(mark.max_score)} points: {points:g} are none of them.")
    with runs.gradebook() as gradebook:
        try:
            grade: Any = gradebook.find_grade(mark.cell, assignment.name, assignment.name, student)
        except MissingEntry:
            raise UsageError(f"The gradebook has no grade of {student} in `{exercise}` any more.") from None
        grade.manual_score, grade.needs_manual_grade = points, False
        gradebook.db.commit()
