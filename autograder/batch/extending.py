"""`autograder extend`: gives a student more time for an assignment, or the whole class.

An extension is nbgrader's, a column of a submission. Who has handed in nothing yet has no submission there, so it is
kept in the store as well, and whatever makes the submission takes it from there.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from nbgrader.api import MissingEntry, SubmittedAssignment
from sqlalchemy import update

from .. import course
from ..errors import UsageError
from ..grading.pauses import moved
from ..grading.store import Store
from ..nbgrader import changing, penalties
from ..nbgrader.runs import NbgraderCourse
from ..nbgrader.standings import extensions
from ..report.gradebook_marks import due_with, duration
from ..verdict import printable
from .commands import locked
from .people import require_student

if TYPE_CHECKING:
    from pathlib import Path

    from nbgrader.api import Gradebook

SPAN = re.compile(r"(?:(\d{1,3})d)?(?:(\d{1,4})h)?(?:(\d{1,5})m)?")
NONE = ("none", "0")
MOST = timedelta(days=366)
FORM = "Write the time as 2d, 36h, 90m or 1d12h, or none to take an extension back"


def span_of(text: str) -> timedelta | None:
    """A time such as 2d, 36h or 1d12h; None for "none". Raises UsageError."""
    text = text.strip().lower()
    if text in NONE:
        return None
    found = SPAN.fullmatch(text) if text.isascii() else None
    days, hours, minutes = (int(one or 0) for one in found.groups()) if found else (0, 0, 0)
    span = timedelta(days=days, hours=hours, minutes=minutes)
    if not span:
        raise UsageError(f"{text[:40]!a} is no time. {FORM}.")
    if span > MOST:
        raise UsageError(f"{text[:40]!a} is more than {MOST.days} days. {FORM}.")
    return span


def extend(root: Path, assignment: course.Assignment, student: str, by: timedelta | None) -> str:
    """Give a student an extension in place of any earlier one, or take it back; returns a sentence. Raises UserError.

    A late penalty that the student has already is determined again.
    """
    runs, results = NbgraderCourse(root), Store(root)
    with locked(root, assignment.name):
        with runs.gradebook() as gradebook:
            due = _due(gradebook, assignment)
            theirs = moved(_later(assignment, due, by) if by else due, results.pauses(), student, assignment.name)
            of_class = moved(due, results.pauses(), "", assignment.name)
            if by or student not in results.extensions(assignment.name):  # or it is taken back of who has left
                require_student(gradebook, results, student, must_be_there=by is not None)
            _record(gradebook, results, assignment, student, by)
        penalties.settle(runs, assignment, student)
    who = f"{printable(student)}: {assignment.name} is due"
    if by is None and theirs == of_class:
        return f"{who} with the class, on {_moment(theirs)}."
    why = f", {duration(by)} after the class" if by else ""
    own = "" if theirs == due_with(of_class, by) else ", moved by a pause"
    return f"{who} on {_moment(theirs)}{why}{own}."


def extend_all(root: Path, assignment: course.Assignment, by: timedelta | None) -> str:
    """Move the due date of an assignment for the whole class; returns a sentence. Raises UserError."""
    if by is None:
        raise UsageError(
            "Nobody knows any more when it was due: give the class a due date as docs/instructors.md says."
        )
    runs, results = NbgraderCourse(root), Store(root)
    with locked(root, assignment.name):
        with runs.gradebook() as gradebook:
            before = _due(gradebook, assignment)
        due = _later(assignment, before, by)
        _move(runs, assignment, due)
        try:
            penalties.settle(runs, assignment)
        except BaseException:
            _move(runs, assignment, before)  # or the same command, given again, would move it twice
            raise
    due = moved(due, results.pauses(), "", assignment.name)
    with runs.gradebook() as gradebook:
        many = len(extensions(gradebook, results, assignment.name).keys() - results.dropped())
    who = "1 student has an extension" if many == 1 else f"{many} students have extensions"
    later = f" {who} on top of that." if many else ""
    return f"{assignment.name} is due on {_moment(due)} for the class.{later}"


def listing(root: Path) -> str:
    """Who has more time for what, one line each."""
    results, lines = Store(root), []
    with NbgraderCourse(root).gradebook() as gradebook:
        known: Any = gradebook.assignments
        dues = {one.name: one.duedate for one in known}
        given = {name: extensions(gradebook, results, name) for name in course.assignments(root)}
    dropped, pauses = results.dropped(), results.pauses()
    for name, theirs in given.items():
        for student, by in sorted((student, by) for student, by in theirs.items() if student not in dropped):
            due = moved(due_with(dues.get(name), by), pauses, student, name)
            lines.append(f"{name}  {printable(student)}: {duration(by)}{f', until {_moment(due)}' if due else ''}")
    return "\n".join(lines) or "Nobody has an extension."


def _due(gradebook: Gradebook, assignment: course.Assignment) -> datetime:
    """When an assignment is due for the class (UTC). Raises UsageError."""
    try:
        due: Any = gradebook.find_assignment(assignment.name).duedate
    except MissingEntry:
        raise changing.unknown(assignment) from None
    if due is None:
        raise UsageError(
            f"{assignment.name} has no due date, so there is nothing to extend: `nbgrader db assignment add"
            f' {assignment.name} --duedate="{datetime.now(UTC):%Y-%m-%d} 12:00 UTC"` sets one.'
        )
    return due


def _later(assignment: course.Assignment, due: datetime, by: timedelta) -> datetime:
    """A due date moved by so much. Raises UsageError if no calendar has it: who sets 9999-12-31 means "never"."""
    try:
        return due + by
    except OverflowError:
        raise UsageError(f"{assignment.name} is due on {_moment(due)}: no date is {duration(by)} later.") from None


def _record(
    gradebook: Gradebook, results: Store, assignment: course.Assignment, student: str, by: timedelta | None
) -> None:
    """Keep an extension in the store, and in the student's submission if there is one: in both places or in none."""
    found: Any = gradebook.find_assignment(assignment.name)
    table = SubmittedAssignment.__table__
    of_student = table.c.assignment_id == found.id, table.c.student_id == student
    gradebook.db.execute(update(table).where(*of_student).values(extension=by))
    given = {**results.extensions(assignment.name), student: by}
    results.put_extensions(assignment.name, {one: more for one, more in given.items() if more})
    gradebook.db.commit()


def _move(runs: NbgraderCourse, assignment: course.Assignment, due: datetime) -> None:
    """Set the due date of the class."""
    with runs.gradebook() as gradebook:
        found: Any = gradebook.find_assignment(assignment.name)
        found.duedate = due
        gradebook.db.commit()


def _moment(when: datetime | None) -> str:
    return f"{when:%Y-%m-%d %H:%M} UTC" if when else "no date"


def wanted(root: Path, words: list[str], for_all: bool) -> str:
    """Do what the words of the command line say; returns what to print. Raises UserError."""
    if not words and not for_all:
        return listing(root)
    if len(words) != (2 if for_all else 3):
        raise UsageError(
            "Say who, what and how long: `autograder extend ada 03 2d`, or `autograder extend --all 03 2d`."
        )
    *who, name, time = words
    assignment, by = course.find_assignment(name), span_of(time)
    return extend_all(root, assignment, by) if for_all else extend(root, assignment, who[0], by)
