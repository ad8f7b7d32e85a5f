"""How late nbgrader takes a submission to be, which its late-submission plug-in takes points for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy.orm import object_session

from .. import course
from ..grading.store import Store
from .deadlines import Deadlines

if TYPE_CHECKING:
    from nbgrader.api import SubmittedAssignment


def seconds_late(submission: SubmittedAssignment) -> float:
    """Replaces nbgrader's `total_seconds_late`: with the late days that a student spends, and 0 for who is excused."""
    about: Any = submission
    name, student, results = about.name, about.student_id, Store(course.root())
    if about.timestamp is None or student in results.excused(name):
        return 0.0
    due = Deadlines(object_session(about), results, name, student).due(student)
    return max(0.0, (about.timestamp - due).total_seconds()) if due else 0.0
