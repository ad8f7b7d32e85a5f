"""Reads the class from the gradebook: names, marks, what waits for a person, and what came late, in a few queries."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from nbgrader.api import BaseCell, Grade, Gradebook, MissingEntry, Student, SubmittedAssignment, SubmittedNotebook
from sqlalchemy import select

from ..errors import UsageError
from ..report.standing import Mark, Roster, Standing

if TYPE_CHECKING:
    from datetime import datetime, timedelta

    from .. import course
    from .runs import NbgraderCourse


def roster(runs: NbgraderCourse, assignment: course.Assignment) -> Roster:
    """The Roster of an assignment. Raises UsageError if the gradebook does not know it."""
    with runs.gradebook() as gradebook:
        try:
            known: Any = gradebook.find_assignment(assignment.name)
        except MissingEntry:
            number = assignment.name.split("_")[0]
            raise UsageError(
                f"The gradebook does not know {assignment.name}. Run `autograder build {number}` first."
            ) from None
        worth = {cell.name: cell.max_score for n in known.notebooks for cell in (*n.grade_cells, *n.task_cells)}
        found = _submissions(gradebook, known.id)
        marks = _marks(gradebook, known.id, worth)
        students = gradebook.db.execute(select(Student.id, Student.first_name, Student.last_name)).all()
        due = known.duedate
        gradebook.db.rollback()
    standings = []
    for student, first, last in students:
        there = found.get(student)
        standing = Standing(student, (first or "").strip(), (last or "").strip())
        if there is not None:
            late = _late(due, there.extension, there.timestamp)
            standing = Standing(
                student, standing.first, standing.last, marks[student], there.penalty or 0.0, late, there.page or ""
            )
        standings.append(standing)
    exercises = {e.grade_id for e in assignment.exercises}
    by_hand = [cell.grade_id for cell in assignment.cells if cell.grade and cell.grade_id not in exercises]
    return Roster(sorted(standings, key=lambda one: one.order), sum(worth.values()), by_hand)


def _submissions(gradebook: Gradebook, assignment: str) -> dict[str, Any]:
    """By student: when it was handed in, the extension, the penalty, and Formgrader's number of the notebook."""
    submission, notebook = SubmittedAssignment.__table__, SubmittedNotebook.__table__
    rows = gradebook.db.execute(
        select(
            submission.c.student_id,
            submission.c.timestamp,
            submission.c.extension,
            notebook.c.late_submission_penalty.label("penalty"),
            notebook.c.id.label("page"),
        )
        .join(notebook, notebook.c.assignment_id == submission.c.id, isouter=True)
        .where(submission.c.assignment_id == assignment)
    )
    return {row.student_id: row for row in rows}


def _marks(gradebook: Gradebook, assignment: str, worth: dict[str, float]) -> dict[str, dict[str, Mark]]:
    """The marks of all students, by student and cell."""
    submission, notebook = SubmittedAssignment.__table__, SubmittedNotebook.__table__
    grade, cell = Grade.__table__, BaseCell.__table__
    rows = gradebook.db.execute(
        select(
            submission.c.student_id,
            cell.c.name,
            grade.c.auto_score,
            grade.c.manual_score,
            grade.c.extra_credit,
            grade.c.needs_manual_grade,
        )
        .join(notebook, notebook.c.assignment_id == submission.c.id)
        .join(grade, grade.c.notebook_id == notebook.c.id)
        .join(cell, cell.c.id == grade.c.cell_id)
        .where(submission.c.assignment_id == assignment)
    )
    found: defaultdict[str, dict[str, Mark]] = defaultdict(dict)
    for student, name, auto, manual, extra, waits in rows:
        if name in worth:
            found[student][name] = Mark(worth[name], auto, manual, extra or 0.0, bool(waits))
    return found


def _late(due: datetime | None, extension: timedelta | None, at: datetime | None) -> timedelta | None:
    if due is None or at is None:
        return None
    over = at - (due + extension if extension else due)
    return over if over.total_seconds() > 0 else None
