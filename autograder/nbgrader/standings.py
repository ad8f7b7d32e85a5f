"""Reads a class's results for an assignment from the gradebook: a query for marks, and one for dates."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from nbgrader.api import (
    Assignment,
    BaseCell,
    Grade,
    GradeCell,
    MissingEntry,
    Notebook,
    SubmittedAssignment,
    SubmittedNotebook,
    TaskCell,
)
from sqlalchemy import and_, func, select

from ..grading.pauses import moved
from ..report.gradebook_marks import Mark, Standing, due_with
from .deadlines import Deadlines

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import timedelta

    from nbgrader.api import Gradebook

    from .. import course
    from ..grading.pauses import Pause
    from ..grading.store import Store


def standings(
    gradebook: Gradebook, results: Store, assignment: course.Assignment, student: str | None = None
) -> dict[str, Standing]:
    """{student: Standing} of everybody who has a submission in the gradebook, or of one student alone.

    The marks are in the order of the assignment's cells. No transaction stays open. Raises SQLAlchemy's errors.
    """
    try:
        deadlines = Deadlines(gradebook.db, results, assignment.name, student)
        submissions = _submissions(gradebook, assignment.name, student)
        marks: dict[str, list[Mark]] = {id: [] for id in submissions}
        exercises = {e.grade_id: e.name for e in assignment.exercises}
        for id, row in _grades(gradebook, assignment.name, student):
            marks.setdefault(id, []).append(mark_of(row, exercises))
    finally:
        gradebook.db.rollback()
    order = {cell.grade_id: number for number, cell in enumerate(assignment.cells)}
    excused = results.excused(assignment.name)
    return {
        s.student_id: Standing(
            tuple(sorted(marks[id], key=lambda mark: order.get(mark.cell, len(order)))),
            s.timestamp,
            deadlines.due(s.student_id),
            s.penalty or 0.0,
            s.student_id in excused,
            deadlines.spent(s.student_id),
        )
        for id, s in submissions.items()
    }


def extensions(gradebook: Gradebook, results: Store, assignment: str) -> dict[str, timedelta]:
    """Who has an extension for an assignment: as their submission says or, where it has none, as is kept.

    No transaction stays open. Raises SQLAlchemy's errors.
    """
    assigned: Any = Assignment
    query = (
        select(SubmittedAssignment.student_id, SubmittedAssignment.extension)
        .join(Assignment, assigned.id == SubmittedAssignment.assignment_id)
        .where(assigned.name == assignment, SubmittedAssignment.extension.is_not(None))
    )
    rows = gradebook.db.execute(query).all()
    gradebook.db.rollback()
    return {**results.extensions(assignment), **{student: extension for student, extension in rows if extension}}


@dataclass(frozen=True)
class Due:
    """When an assignment is due (UTC), but for pauses, and who has how much more time."""

    assignment: str
    due: datetime | None
    extensions: Mapping[str, timedelta]
    pauses: Sequence[Pause] = ()

    def of(self, student: str) -> datetime | None:
        """When it is due for a student, or for the class (""), but for late days."""
        return moved(due_with(self.due, self.extensions.get(student)), self.pauses, student, self.assignment)


def due_dates(gradebook: Gradebook, results: Store, assignment: course.Assignment) -> Due:
    """When an assignment is due; never, where the gradebook does not know it. Raises SQLAlchemy's errors."""
    try:
        due: Any = gradebook.find_assignment(assignment.name).duedate
    except MissingEntry:
        return Due(assignment.name, None, {})
    more = extensions(gradebook, results, assignment.name)
    return Due(assignment.name, due and due.replace(tzinfo=UTC), more, results.pauses())


def mark_of(row: Any, exercises: Mapping[str, str]) -> Mark:
    """The Mark of a row of the gradebook; `exercises` are the names of exercises by the grade ids of their cells."""
    return Mark(
        cell=row.name,
        exercise=exercises.get(row.name, ""),
        auto=row.auto_score,
        by_hand=row.manual_score,
        extra=row.extra_credit or 0.0,
        max_score=row.max_score or 0.0,
        waits=bool(row.needs_manual_grade),
    )


def _submissions(gradebook: Gradebook, assignment: str, student: str | None) -> dict[str, Any]:
    """{a submission's id: its student, dates and penalty}, by student."""
    assigned: Any = Assignment
    notebooks = select(Notebook.id).where(Notebook.assignment_id == assigned.id).correlate(assigned)
    penalty = (
        select(func.sum(SubmittedNotebook.late_submission_penalty))
        .where(SubmittedNotebook.notebook_id.in_(notebooks), SubmittedNotebook.assignment_id == SubmittedAssignment.id)
        .correlate(assigned, SubmittedAssignment)
        .scalar_subquery()
    )
    query = (
        select(
            SubmittedAssignment.id,
            SubmittedAssignment.student_id,
            SubmittedAssignment.timestamp,
            penalty.label("penalty"),
        )
        .join(Assignment, assigned.id == SubmittedAssignment.assignment_id)
        .where(assigned.name == assignment)
        .order_by(SubmittedAssignment.student_id)
    )
    query = query if student is None else query.where(SubmittedAssignment.student_id == student)
    return {row.id: row for row in gradebook.db.execute(query)}


def _grades(gradebook: Gradebook, assignment: str, student: str | None) -> list[tuple[str, Any]]:
    """(a submission's id, the mark of a cell), for every graded cell that a submission has.

    The query goes through the cells: there is an index on (cell, submission) but none on the submission alone.
    """
    assigned: Any = Assignment
    of_submission = and_(
        SubmittedNotebook.notebook_id == Notebook.id, SubmittedNotebook.assignment_id == SubmittedAssignment.id
    )
    cell, grade_cell, task_cell = BaseCell.__table__, GradeCell.__table__, TaskCell.__table__
    worth = func.coalesce(grade_cell.c.max_score, task_cell.c.max_score, 0.0)
    query = (
        select(
            SubmittedNotebook.assignment_id,
            cell.c.name,
            Grade.auto_score,
            Grade.manual_score,
            Grade.extra_credit,
            Grade.needs_manual_grade,
            worth.label("max_score"),
        )
        .select_from(Assignment.__table__)
        .join(SubmittedAssignment.__table__, SubmittedAssignment.assignment_id == assigned.id)
        .join(Notebook.__table__, Notebook.assignment_id == assigned.id)
        .join(SubmittedNotebook.__table__, of_submission)
        .join(cell, cell.c.notebook_id == Notebook.id)
        .join(Grade.__table__, and_(Grade.cell_id == cell.c.id, Grade.notebook_id == SubmittedNotebook.id))
        .outerjoin(grade_cell, grade_cell.c.id == cell.c.id)
        .outerjoin(task_cell, task_cell.c.id == cell.c.id)
        .where(assigned.name == assignment)
    )
    query = query if student is None else query.where(SubmittedAssignment.student_id == student)
    return [(row.assignment_id, row) for row in gradebook.db.execute(query)]
