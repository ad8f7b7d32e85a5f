"""Which student of the course somebody is, and whether that is who was noted when they came first.

Each authority has ids of its own: the instructor's roster, the Hub, each learning platform. Two of them that are spelt
alike are two people, unless the roster says otherwise. So who is on no roster has an id that is made of the authority
and its whole name for the person (`newcomer_id`), and no other account can be given it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from sqlalchemy import select, update

from ...intake.identity import address
from ...intake.people import clean
from ..tables import PERSON
from ..visitors import INSTRUCTOR, STUDENT, Refused, Visitor

if TYPE_CHECKING:
    from ...intake.people import Roster, Student
    from ..record import Record

ID, EMAIL, NUMBER = BY = ("id", "email", "number")  # what of a student a door may be told
FRESH = 15.0  # seconds after which the roster is read again
ALL: Callable[[str], bool] = lambda subject: True  # noqa: E731
LONGEST = 40  # characters that a newcomer's id begins with, for readers
NEWCOMER = re.compile(r"[^~]+~[a-z]+-([a-z2-7]{16})")  # no id that is made of a name has the sign ~
VOUCH = ("hub", "lti")  # the doors whose people need not be on the roster


def newcomer_id(door: str, subject: str, value: str = "") -> str:
    """The course's id for somebody on no roster: `ada~hub-3f5w…`, by the `subject` that their door has for them.

    `value` is what they call themselves, for readers alone.
    """
    named = (clean(value)[:LONGEST].rstrip(".-") or "somebody").replace("~", "-")
    return f"{named}~{door}-{_digest(door, subject)}"


def is_newcomer(student: str) -> bool:
    """Whether an id of the course is one that `newcomer_id` makes."""
    return NEWCOMER.fullmatch(student) is not None


def _digest(door: str, subject: str) -> str:
    """80 bits by which a newcomer's id is that of one subject of one door."""
    hashed = hashlib.sha256(json.dumps([door, subject]).encode()).digest()
    return base64.b32encode(hashed[:10]).decode().lower()


def authority_of(door: str, subject: str) -> tuple[str, ...]:
    """Who vouches for a subject: the door, and the platform behind it."""
    if door != "lti":
        return (door,)
    try:
        return (door, *map(str, json.loads(subject)[:2]))
    except (ValueError, TypeError):
        return (door, subject)


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
        self.all: dict[str, Student] = {}  # with those who were dropped

    def student(self, by: str, value: str) -> str:
        """The id of the one student whose `by` (one of BY) is the value; "" if there is none, or more than one."""
        self._refresh()
        found = self._by[by].get(_alike(by, value), set()) if value else set()
        return next(iter(found)) if len(found) == 1 else ""

    def row(self, student: str) -> str:
        """The id of the student of the roster that the instructor means by an id, a newcomer's too; or ""."""
        self._refresh()
        return student if student in self.all else self.student(ID, student)

    def otherwise(self, door: str, subject: str, value: str) -> str:
        """The student that an account is whose `value` the roster does not have, or "".

        That is who was noted for it, by a list of members or before; else, where everybody is let in, a newcomer.
        """
        self._refresh()
        noted = self.noted(door, subject)
        if noted is not None and noted.student and self._stays(noted, value):
            return noted.student
        return newcomer_id(door, subject, value) if self.everybody and value else ""

    def _stays(self, noted: Visitor, value: str) -> bool:
        """Whether an account is still who was noted for it.

        Earlier versions took a value for an id of the roster, or made a newcomer's id of it alone: what came of that
        stays with the account, unless the roster describes another person by that id.
        """
        row = self.all.get(noted.student)
        if is_newcomer(noted.student):
            return noted.student.endswith(_digest(noted.door, noted.subject))
        if clean(noted.student) != clean(value) or row is None or not row.is_known:
            return True
        return not self.everybody and row.lms_user_id in ("", value)

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
            roster = self._read()
            by = {kind: dict[str, set[str]]() for kind in BY}
            for student in roster.all.values():  # who was dropped is no newcomer
                id = "" if is_newcomer(student.id) else student.id  # in the gradebook once graded, and nobody else's
                for kind, value in ((ID, id), (EMAIL, student.email), (NUMBER, student.lms_user_id)):
                    if value:
                        by[kind].setdefault(_alike(kind, value), set()).add(student.id)
            self.students, self.all, self._by = {one.id: one for one in roster}, roster.all, by
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
        if self._is_bare(visitor.student) and self._of_others(visitor):
            raise Refused(_taken(visitor), 403)

    def _is_bare(self, student: str) -> bool:
        """Whether an id may be a newcomer's of an earlier version: it is all that the roster has of a student."""
        row = self.all.get(student)
        return self.everybody and not is_newcomer(student) and row is not None and not row.is_known

    def _of_others(self, visitor: Visitor) -> bool:
        """Whether another authority's account was noted as the visitor's student."""
        mine = authority_of(visitor.door, visitor.subject)
        noted = _vouched().where(PERSON.c.student == visitor.student)
        with self.record.reading() as connection:
            rows = connection.execute(noted).all()
        return any(authority_of(row.door, row.subject) != mine for row in rows)

    def separate(self) -> list[str]:
        """Make accounts of several authorities that an earlier version took for one newcomer several again.

        The account that came first keeps the id. The others get ids of their own, and the attempts that they have made;
        where the gradebook has the id, the instructor has to say whose it is. Returns the ids that were shared.
        """
        self._refresh()
        with self.record.reading() as connection:
            rows = connection.execute(_vouched().where(PERSON.c.student != "").order_by(PERSON.c.id)).all()
        first: dict[str, tuple[str, ...]] = {}
        shared = []
        for row in rows:
            known = self.all.get(row.student)
            if is_newcomer(row.student) or (known is not None and known.is_known):
                continue
            who = authority_of(row.door, row.subject)
            if not self.everybody or first.setdefault(row.student, who) == who:
                continue
            new = newcomer_id(row.door, row.subject, row.student) if known is None else ""
            with self.record.writing() as connection:
                connection.execute(update(PERSON).where(PERSON.c.id == row.id).values(student=new))
            if new:
                self.record.hand_over(row.id, f"student:{row.student}", f"student:{new}")
            shared.append(row.student)
        return shared

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


def _vouched():
    """The accounts of students by doors whose people need not be on the roster."""
    columns = (PERSON.c.id, PERSON.c.door, PERSON.c.subject, PERSON.c.student)
    return select(*columns).where(PERSON.c.door.in_(VOUCH), PERSON.c.role == STUDENT)


def _alike(by: str, value: str) -> str:
    return value if by == NUMBER else address(value)


def _taken(visitor: Visitor) -> str:
    return (
        f"Another account than yours was noted as {visitor.student}'s when it came first. Ask your instructor, who can"
        " let yours be noted instead."
    )
