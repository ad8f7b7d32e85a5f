"""Which student of the course somebody is, and whether that is who was noted when they came first."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from sqlalchemy import select, update

from ...intake.identity import address
from ...intake.people import clean
from ..tables import PERSON
from ..visitors import INSTRUCTOR, Refused, Visitor

if TYPE_CHECKING:
    from ...intake.people import Roster, Student
    from ..record import Record

ID, EMAIL, NUMBER = BY = ("id", "email", "number")  # what of a student a door may be told
FRESH = 15.0  # seconds after which the roster is read again
ALL: Callable[[str], bool] = lambda subject: True  # noqa: E731


class People:
    """The students of the course. `read` reads the roster; `everybody` lets in who is not on it, too."""

    def __init__(self, record: Record, read: Callable[[], Roster], everybody: bool = False) -> None:
        self.record = record
        self.everybody = everybody
        self._read = read
        self._lock = threading.Lock()
        self._until = 0.0
        self._by: dict[str, dict[str, set[str]]] = {}
        self.students: dict[str, Student] = {}

    def student(self, by: str, value: str) -> str:
        """The id of the one student whose `by` (one of BY) is the value; "" if there is none, or more than one."""
        self._refresh()
        found = self._by[by].get(_alike(by, value), set()) if value else set()
        return next(iter(found)) if len(found) == 1 else ""

    def newcomer(self, value: str) -> str:
        """The id for somebody who is not on the roster, where everybody is let in; "" if there is none.

        It is none of the roster's, whatever `value` reads like: that would make them that student.
        """
        self._refresh()
        made = clean(value) if self.everybody else ""
        return "" if made in self.students else made

    def name(self, student: str) -> str:
        """The name of a student for display, or the id."""
        self._refresh()
        return self.students[student].name or student if student in self.students else student

    def email(self, student: str) -> str:
        """The e-mail address of a student of the roster, or ""."""
        self._refresh()
        return self.students[student].email if student in self.students else ""

    def everyone(self) -> list[str]:
        """The ids of all students of the roster."""
        self._refresh()
        return list(self.students)

    def refresh(self) -> None:
        """Read the roster again: it has changed."""
        self._until = 0.0

    def _refresh(self) -> None:
        with self._lock:
            if time.monotonic() < self._until:
                return
            students, by = {}, {kind: dict[str, set[str]]() for kind in BY}
            for student in self._read():
                students[student.id] = student
                for kind, value in ((ID, student.id), (EMAIL, student.email), (NUMBER, student.lms_user_id)):
                    if value:
                        by[kind].setdefault(_alike(kind, value), set()).add(student.id)
            self.students, self._by = students, by
            self._until = time.monotonic() + FRESH

    # --- who may come in --------------------------------------------------------------------------

    def admit(self, visitor: Visitor, same_authority: Callable[[str], bool] = ALL) -> Visitor:
        """The visitor, if they may come in and are who was noted of them; then they are noted.

        `same_authority` says of a subject of the same door whether the same system vouches for it. Raises Refused.
        """
        self.check(visitor)
        if visitor.student:
            self._compare(visitor, same_authority)
        number = self.record.person(visitor)
        if visitor.student:  # somebody else may have come at the same moment: the first one noted stays
            first = min((id for id, subject, _ in self._noted(visitor) if same_authority(subject)), default=number)
            if first != number:
                self.forget(visitor.student, number)
                raise Refused(_taken(visitor), 403)
        return visitor

    def check(self, visitor: Visitor) -> None:
        """Raises Refused if a student is not on the roster, where only those are let in."""
        self._refresh()
        if visitor.role == INSTRUCTOR or self.everybody and visitor.student:
            return
        if not visitor.student or visitor.student not in self.students:
            raise Refused(
                f"{visitor.name or visitor.student or 'You'}: nobody on this course's roster has your account. Ask your"
                " instructor to add you.",
                403,
            )

    def _compare(self, visitor: Visitor, same_authority: Callable[[str], bool]) -> None:
        for _, subject, student in self._noted(visitor):
            if subject == visitor.subject and student not in ("", visitor.student):
                raise Refused(
                    f"Your account was noted as {student}'s when you came first, and is now said to be"
                    f" {visitor.student}'s. Ask your instructor, who can let it be noted again.",
                    403,
                )
            if subject != visitor.subject and student == visitor.student and same_authority(subject):
                raise Refused(_taken(visitor), 403)

    def _noted(self, visitor: Visitor) -> list[tuple[int, str, str]]:
        """(number, subject, student) of the visitor and of all whom the same door has noted as the same student."""
        mine = (PERSON.c.subject == visitor.subject) | (PERSON.c.student == visitor.student)
        columns = (PERSON.c.id, PERSON.c.subject, PERSON.c.student)
        with self.record.reading() as connection:
            rows = connection.execute(select(*columns).where(PERSON.c.door == visitor.door, mine)).all()
        return [(row.id, row.subject, row.student) for row in rows]

    def noted(self, door: str, subject: str) -> Visitor | None:
        """Who was noted with a subject when they came last, or None."""
        columns = (PERSON.c.student, PERSON.c.name, PERSON.c.role)
        who = (PERSON.c.door == door) & (PERSON.c.subject == subject)
        with self.record.reading() as connection:
            row = connection.execute(select(*columns).where(who)).first()
        return None if row is None else Visitor(door, subject, row.student, row.name, row.role)

    def forget(self, student: str, person: int | None = None) -> int:
        """Forget which accounts were noted as a student's, or one of them; returns how many there were.

        The attempts stay the student's.
        """
        who = PERSON.c.student == student
        if person is not None:
            who &= PERSON.c.id == person
        with self.record.writing() as connection:
            return connection.execute(update(PERSON).where(who).values(student="")).rowcount


def _alike(by: str, value: str) -> str:
    return value if by == NUMBER else address(value)


def _taken(visitor: Visitor) -> str:
    return (
        f"Another account than yours was noted as {visitor.student}'s when it came first. Ask your instructor, who can"
        " let yours be noted instead."
    )
