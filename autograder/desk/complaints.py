"""What students say is wrong with a grade, and what the instructor answers: kept in the record, once per exercise."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import func, select

from ..errors import UsageError
from ..verdict import printable
from .record import Attempt, Record
from .tables import ATTEMPT, COMPLAINT, PERSON

LONGEST = 2_000  # characters of a complaint, and of an answer
OPEN = 10  # of one person that may wait for an answer: more would only bury them
SHOWN = 100  # on a page, of those that wait and of those that are answered


@dataclass(frozen=True)
class Complaint:
    """A complaint about an exercise of an attempt; `answer` is None until an instructor has answered.

    `points` are those that the instructor has set with the answer; None if the grade stays.
    """

    id: int
    attempt: str
    number: int
    assignment: str
    exercise: str
    student: str
    name: str
    made: datetime
    says: str
    answered: datetime | None
    answer: str | None
    points: float | None

    @property
    def state(self) -> str:
        """What changes with each answer; "" without one."""
        return self.answered.isoformat() if self.answered else ""


def written(text: str) -> str:
    """A text of a form, which ends its lines as browsers do, without what could deceive a reader."""
    return printable(text.replace("\r\n", "\n").replace("\r", "\n"))


def said(text: str, what: str) -> str:
    """What somebody has written, without what could deceive a reader. Raises UsageError if it is nothing, or too much.

    `what` names it in the sentence, such as "complaint".
    """
    text = written(text).strip()
    if not text:
        raise UsageError(f"The {what} is empty: write what it should say.")
    if len(text) > LONGEST:
        raise UsageError(f"The {what} has {len(text):,} characters, and at most {LONGEST:,} are kept: shorten it.")
    return text


def complain(record: Record, attempt: Attempt, exercise: str, text: str) -> None:
    """Keep a complaint about an exercise of an attempt. Raises UsageError."""
    text = said(text, "complaint")
    number = select(func.count()).select_from(COMPLAINT)
    same = number.where(COMPLAINT.c.attempt == attempt.id, COMPLAINT.c.exercise == exercise)
    waiting = number.where(COMPLAINT.c.owner == attempt.owner, COMPLAINT.c.answered.is_(None))
    with record.writing() as connection:
        record.alone_with(connection, attempt.owner)
        if connection.execute(same).scalar_one():
            raise UsageError(f"You have complained about `{exercise}` of this attempt before: that is kept.")
        if connection.execute(waiting).scalar_one() >= OPEN:
            raise UsageError(f"{OPEN} complaints of yours wait for an answer: wait until one of them is answered.")
        kept = {"attempt": attempt.id, "owner": attempt.owner, "exercise": exercise, "says": text}
        connection.execute(sa.insert(COMPLAINT).values(**kept, made=record.now(connection)))


def answer(record: Record, id: int, text: str, points: float | None) -> None:
    """Keep the answer to a complaint; a later one replaces it. Raises UsageError."""
    text = said(text, "answer")
    with record.writing() as connection:
        kept = {"answer": text, "answered": record.now(connection)}
        if points is not None:
            kept["points"] = points
        connection.execute(sa.update(COMPLAINT).where(COMPLAINT.c.id == id).values(**kept))


def find(record: Record, id: int) -> Complaint | None:
    """The complaint with this id."""
    found = _found(record, _COLUMNS.where(COMPLAINT.c.id == id))
    return found[0] if found else None


def of_attempt(record: Record, attempt: str) -> list[Complaint]:
    """The complaints about an attempt."""
    return _found(record, _COLUMNS.where(COMPLAINT.c.attempt == attempt).order_by(COMPLAINT.c.id))


def of_owner(record: Record, owner: str, assignment: str | None = None) -> list[Complaint]:
    """The latest complaints of a person, the newest first."""
    query = _COLUMNS.where(COMPLAINT.c.owner == owner)
    if assignment is not None:
        query = query.where(ATTEMPT.c.assignment == assignment)
    return _found(record, query.order_by(COMPLAINT.c.id.desc()).limit(SHOWN))


def waiting(record: Record) -> list[Complaint]:
    """The complaints that wait for an answer, the oldest first, at most SHOWN."""
    return _found(record, _COLUMNS.where(COMPLAINT.c.answered.is_(None)).order_by(COMPLAINT.c.id).limit(SHOWN))


def answered(record: Record) -> list[Complaint]:
    """The complaints that are answered, the latest first, at most SHOWN."""
    done = _COLUMNS.where(COMPLAINT.c.answered.is_not(None))
    return _found(record, done.order_by(COMPLAINT.c.answered.desc()).limit(SHOWN))


def count(record: Record) -> int:
    """How many complaints wait for an answer."""
    with record.reading() as connection:
        return connection.execute(select(func.count()).where(COMPLAINT.c.answered.is_(None))).scalar_one()


def counts(record: Record) -> dict[tuple[str, str], int]:
    """How many complaints wait for an answer, by exercise and assignment."""
    query = select(COMPLAINT.c.exercise, ATTEMPT.c.assignment, func.count())
    query = query.join(ATTEMPT, ATTEMPT.c.id == COMPLAINT.c.attempt).where(COMPLAINT.c.answered.is_(None))
    with record.reading() as connection:
        rows = connection.execute(query.group_by(COMPLAINT.c.exercise, ATTEMPT.c.assignment)).all()
    return {(exercise, assignment): number for exercise, assignment, number in rows}


_COLUMNS = (
    select(*COMPLAINT.c, ATTEMPT.c.number, ATTEMPT.c.assignment, PERSON.c.student, PERSON.c.name)
    .join(ATTEMPT, ATTEMPT.c.id == COMPLAINT.c.attempt)
    .join(PERSON, PERSON.c.id == ATTEMPT.c.person)
)


def _found(record: Record, query: Any) -> list[Complaint]:
    with record.reading() as connection:
        rows = connection.execute(query).all()
    return [
        Complaint(
            id=row.id,
            attempt=row.attempt,
            number=row.number,
            assignment=row.assignment,
            exercise=row.exercise,
            student=row.student,
            name=row.name or row.student,
            made=datetime.fromtimestamp(row.made, UTC),
            says=row.says,
            answered=datetime.fromtimestamp(row.answered, UTC) if row.answered is not None else None,
            answer=row.answer,
            points=row.points,
        )
        for row in rows
    ]
