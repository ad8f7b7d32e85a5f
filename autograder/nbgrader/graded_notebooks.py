"""Reads a student's notebook from the gradebook, with three queries."""

from __future__ import annotations

import contextlib
import functools
from typing import TYPE_CHECKING, Any

from nbgrader.api import (
    Assignment,
    BaseCell,
    Comment,
    Grade,
    Gradebook,
    MissingEntry,
    Notebook,
    Student,
    SubmittedAssignment,
    SubmittedNotebook,
)
from sqlalchemy import select

from .. import course
from ..grading.store import Store
from ..report.gradebook_marks import GradedNotebook, Standing
from .deadlines import Deadlines
from .standings import mark_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import Row

SOLUTIONS = ("SolutionCell", "TaskCell")  # cells that may have a comment; a task counts if no other cell has its name
GRADED = ("GradeCell", "TaskCell")


def graded_notebook(url: str, notebook: str, assignment: str, student: str) -> GradedNotebook:
    """A student's GradedNotebook. Raises MissingEntry if the gradebook has none."""
    with reading(url) as gradebook:
        db = gradebook.db
        found = db.execute(_submission(notebook, assignment, student)).first()
        if found is None:
            raise MissingEntry(f"The gradebook has no {notebook} of {student}")
        columns = Grade.max_score, Grade.auto_score, Grade.manual_score, Grade.extra_credit, Grade.needs_manual_grade
        deadlines = Deadlines(db, Store(course.root()), assignment, student)
        due, late_days = deadlines.due(student), deadlines.spent(student)
        grades = _rows(db, found, Grade, GRADED, *columns)
        comments = _rows(db, found, Comment, SOLUTIONS, Comment.manual_comment, Comment.auto_comment)
    about = course.assignments().get(assignment)
    exercises = {e.grade_id: e.name for e in about.exercises} if about else {}
    marks = {row.name: mark_of(row, exercises) for row in grades}
    penalty = found.late_submission_penalty or 0.0
    is_excused = student in Store(course.root()).excused(assignment)
    return GradedNotebook(
        student,
        " ".join(part for part in (found.first_name, found.last_name) if part),
        Standing(tuple(marks.values()), found.timestamp, due, penalty, is_excused, late_days),
        {row.name: _comment(row) for row in comments if row.manual_comment or row.auto_comment},
    )


@contextlib.contextmanager
def reading(url: str) -> Iterator[Gradebook]:
    """The gradebook, opened only once. No transaction stays open afterwards, which would keep others from writing."""
    gradebook = _gradebook(url)
    try:
        yield gradebook
    finally:
        gradebook.db.remove()


@functools.lru_cache(maxsize=1)
def _gradebook(url: str) -> Gradebook:
    return Gradebook(url)


def _submission(notebook: str, assignment: str, student: str) -> Any:
    assigned: Any = Assignment  # nbgrader adds some columns of these after the class definition
    submitted: Any = SubmittedNotebook
    return (
        select(
            submitted.id,
            submitted.notebook_id,
            submitted.late_submission_penalty,
            SubmittedAssignment.timestamp,
            Student.first_name,
            Student.last_name,
        )
        .join(Notebook, Notebook.id == submitted.notebook_id)
        .join(SubmittedAssignment, SubmittedAssignment.id == submitted.assignment_id)
        .join(Student, Student.id == SubmittedAssignment.student_id)
        .join(Assignment, assigned.id == SubmittedAssignment.assignment_id)
        .where(Notebook.name == notebook, assigned.name == assignment, SubmittedAssignment.student_id == student)
    )


def _rows(db: Any, submitted: Any, table: Any, types: Sequence[str], *columns: Any) -> list[Row[Any]]:
    """Rows of Grade or Comment, in which a cell that is no task comes after a task of the same name.

    The query goes through the cells: there is an index on (cell, submission) but none on the submission alone, so a
    query by submission would search the rows of the whole class for each student.
    """
    return db.execute(
        select(BaseCell.name, *columns)
        .join(table, table.cell_id == BaseCell.id)
        .where(BaseCell.notebook_id == submitted.notebook_id, table.notebook_id == submitted.id)
        .where(BaseCell.type.in_(types))
        .order_by(BaseCell.type.desc())
    ).all()


def _comment(row: Row[Any]) -> tuple[str, bool]:
    """(the comment that counts, whether a person wrote it)"""
    return (row.manual_comment, True) if row.manual_comment else (row.auto_comment, False)
