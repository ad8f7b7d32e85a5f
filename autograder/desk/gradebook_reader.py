"""Reads from the gradebook what the desk needs: which assignments are built, when they are due, and the roster."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from nbgrader.api import Assignment, Student, SubmittedAssignment
from sqlalchemy import select

from .. import course
from ..grading.pauses import moved
from ..grading.store import Store
from ..report.gradebook_marks import due_with

FRESH = 3.0  # seconds for which what was read is not read again


@dataclass(frozen=True)
class Person:
    """A student of the roster."""

    student: str
    first: str
    last: str

    @property
    def name(self) -> str:
        """First and last name, or the id."""
        return " ".join(filter(None, (self.first, self.last))) or self.student


@dataclass(frozen=True)
class OwnDue:
    """When an assignment is due for a student (UTC), None if it never is, and what has made it later."""

    at: datetime | None
    is_extended: bool
    is_paused: bool


class GradebookReader:
    """Reads the gradebook at `url`; where there is none yet, all assignments are there, and none has a due date.

    Raises SQLAlchemy's errors.
    """

    def __init__(self, root: Path, url: str) -> None:
        self.root = root
        self.engine = sa.create_engine(url, pool_pre_ping=True)
        self._known: tuple[float, dict[str, datetime | None]] | None = None
        self._students: tuple[float, dict[str, Person]] | None = None

    def close(self) -> None:
        self.engine.dispose()

    @property
    def is_there(self) -> bool:
        """Whether there is a gradebook: SQLite would make an empty file."""
        file = self.engine.url.database
        return self.engine.dialect.name != "sqlite" or bool(file) and Path(self.root, file or "").is_file()

    def assignments(self) -> dict[str, datetime | None]:
        """The due dates (UTC) of the assignments that are built, by name, in the order of the course.

        They are the class's, moved by its pauses.
        """
        pauses = Store(self.root).pauses()
        return {name: moved(due, pauses, "", name) for name, due in self._without_pauses().items()}

    def _without_pauses(self) -> dict[str, datetime | None]:
        if self._known is None or self._known[0] < time.monotonic():
            self._known = time.monotonic() + FRESH, self._read_assignments()
        return self._known[1]

    def _read_assignments(self) -> dict[str, datetime | None]:
        if not self.is_there:
            return dict.fromkeys(course.assignments(self.root))
        assigned: Any = Assignment
        with self.engine.connect() as connection:
            rows = connection.execute(select(assigned.name, assigned.duedate)).all()
        due = {name: moment and moment.replace(tzinfo=UTC) for name, moment in rows}
        return {name: due[name] for name in course.assignments(self.root) if name in due}

    def due(self, assignment: str, student: str) -> OwnDue:
        """When an assignment is due for a student; "" is who is none."""
        before = self._without_pauses().get(assignment)
        extension = self._extension(assignment, student) if before and student else None
        without = due_with(before, extension)
        at = moved(without, Store(self.root).pauses(), student, assignment)
        return OwnDue(at, bool(extension), at != without)

    def _extension(self, assignment: str, student: str) -> timedelta | None:
        assigned: Any = Assignment
        query = (
            select(SubmittedAssignment.extension)
            .join(Assignment, assigned.id == SubmittedAssignment.assignment_id)
            .where(assigned.name == assignment, SubmittedAssignment.student_id == student)
        )
        with self.engine.connect() as connection:
            extension = connection.execute(query).scalar()
        return extension or Store(self.root).extensions(assignment).get(student)

    def hand_ins(self, student: str) -> dict[str, datetime]:
        """When what the gradebook has of a student was handed in (UTC), by assignment."""
        if not self.is_there:
            return {}
        assigned: Any = Assignment
        query = (
            select(assigned.name, SubmittedAssignment.timestamp)
            .join(Assignment, assigned.id == SubmittedAssignment.assignment_id)
            .where(SubmittedAssignment.student_id == student, SubmittedAssignment.timestamp.is_not(None))
        )
        with self.engine.connect() as connection:
            return {name: moment.replace(tzinfo=UTC, microsecond=0) for name, moment in connection.execute(query)}

    def students(self) -> dict[str, Person]:
        """Those on the roster, by their id, without those who were dropped."""
        if self._students is None or self._students[0] < time.monotonic():
            self._students = time.monotonic() + FRESH, self._read_students()
        return self._students[1]

    def _read_students(self) -> dict[str, Person]:
        if not self.is_there:
            return {}
        with self.engine.connect() as connection:
            rows = connection.execute(select(Student.id, Student.first_name, Student.last_name)).all()
        dropped = Store(self.root).dropped()
        return {
            id: Person(id, (first or "").strip(), (last or "").strip()) for id, first, last in rows if id not in dropped
        }
