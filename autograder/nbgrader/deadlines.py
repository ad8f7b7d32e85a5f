"""When an assignment is due for each student, by the gradebook: with extensions, pauses, and the late days spent."""

from __future__ import annotations

import functools
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from nbgrader.api import Assignment, SubmittedAssignment
from sqlalchemy import select

from ..grading import late_days, pauses
from ..grading.late_days import HandIn
from ..report.gradebook_marks import due_with

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from ..grading.store import Store


class Deadlines:
    """The due dates (UTC, without a zone, as nbgrader has them) of an assignment, for one `student` or for all.

    Late days are those that the submissions in the gradebook have spent, in all assignments. Raises SQLAlchemy's errors
    and CourseError.
    """

    def __init__(self, db: Any, results: Store, assignment: str, student: str | None = None) -> None:
        self.results, self.assignment = results, assignment
        self.rules = late_days.of_course(results.root.parent)
        assigned: Any = Assignment
        dues = select(assigned.name, assigned.duedate)
        self.of_class: Mapping[str, datetime | None] = {name: due for name, due in db.execute(dues)}
        query = select(
            SubmittedAssignment.student_id,
            assigned.name,
            SubmittedAssignment.timestamp,
            SubmittedAssignment.extension,
        ).join(Assignment, assigned.id == SubmittedAssignment.assignment_id)
        if not self.rules.budget:
            query = query.where(assigned.name == assignment)
        if student is not None:
            query = query.where(SubmittedAssignment.student_id == student)
        self._submissions: dict[str, dict[str, Any]] = {}
        for row in db.execute(query):
            self._submissions.setdefault(row.student_id, {})[row.name] = row
        self.extensions = functools.cache(results.extensions)
        self.excused = functools.cache(results.excused)
        self.pauses = results.pauses()

    def due(self, student: str) -> datetime | None:
        """When it is due for a student: until then, nothing is taken off."""
        return due_with(self.before_late_days(student), timedelta(days=self.spent(student)))

    def before_late_days(self, student: str, assignment: str | None = None) -> datetime | None:
        """When it, or another assignment, is due for a student who spends no late day."""
        name = assignment or self.assignment
        submission = self._submissions.get(student, {}).get(name)
        extension = (submission and submission.extension) or self.extensions(name).get(student)
        return pauses.moved(due_with(self.of_class.get(name), extension), self.pauses, student, name)

    def spent(self, student: str) -> int:
        """The late days that a student's submission has spent."""
        rows = self._submissions.get(student, {})
        if not self.rules.budget or self.assignment not in rows:
            return 0
        hand_ins = [HandIn(name, row.timestamp, is_forced=True) for name, row in rows.items() if row.timestamp]
        forget = [name for name in rows if student in self.excused(name)]
        due = functools.partial(self.before_late_days, student)
        return late_days.spent(hand_ins, due, self.rules, forget).get(self.assignment, 0)
