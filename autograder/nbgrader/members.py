"""Who is in the class, as the gradebook has it: its roster, and what each has of an assignment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbgrader.api import MissingEntry, Student, SubmittedAssignment, SubmittedNotebook
from sqlalchemy import select

from ..report.gradebook_marks import Member, Roster
from . import changing
from .standings import standings

if TYPE_CHECKING:
    from nbgrader.api import Gradebook

    from .. import course
    from ..grading.store import Store
    from .runs import NbgraderCourse


def roster_of(runs: NbgraderCourse, results: Store, assignment: course.Assignment) -> Roster:
    """The Roster of an assignment, without the students who were dropped.

    Raises UsageError if the gradebook does not know the assignment.
    """
    with runs.gradebook() as gradebook:
        try:
            known: Any = gradebook.find_assignment(assignment.name)
        except MissingEntry:
            raise changing.unknown(assignment) from None
        worth = sum(cell.max_score for n in known.notebooks for cell in (*n.grade_cells, *n.task_cells))
        found = standings(gradebook, results, assignment)
        pages = _pages(gradebook, known.id)
        students = gradebook.db.execute(select(Student.id, Student.first_name, Student.last_name)).all()
        gradebook.db.rollback()
    dropped, excused = results.dropped(), results.excused(assignment.name)
    everybody = [
        Member(id, (first or "").strip(), (last or "").strip(), found.get(id), pages.get(id, ""))
        for id, first, last in students
        if id not in dropped
    ]
    exercises = {e.grade_id for e in assignment.exercises}
    by_hand = [cell.grade_id for cell in assignment.cells if cell.grade and cell.grade_id not in exercises]
    everybody.sort(key=lambda one: one.order)
    members = [one for one in everybody if one.student not in excused]
    return Roster(members, worth, by_hand, [one for one in everybody if one.student in excused])


def enrolled(runs: NbgraderCourse) -> set[str]:
    """The ids of the students of whom a roster said more than the id; none if there is no roster."""
    named = Student.first_name, Student.last_name, Student.email, Student.lms_user_id
    with runs.gradebook() as gradebook:
        rows = gradebook.db.execute(select(Student.id, *named)).all()
        gradebook.db.rollback()
    return {id for id, *about in rows if any(about)}


def _pages(gradebook: Gradebook, assignment: str) -> dict[str, str]:
    """By student: the number by which Formgrader knows the notebook."""
    submission, notebook = SubmittedAssignment.__table__, SubmittedNotebook.__table__
    rows = gradebook.db.execute(
        select(submission.c.student_id, notebook.c.id)
        .join(notebook, notebook.c.assignment_id == submission.c.id)
        .where(submission.c.assignment_id == assignment)
    )
    return {student: page for student, page in rows}
