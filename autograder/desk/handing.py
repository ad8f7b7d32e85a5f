"""Takes a hand-in: who may, until when, what it must be, and how often it is answered; then the record has it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from .. import course
from ..errors import Unreadable
from ..grading.rounds import Rounds
from ..grading.store import Store
from ..submission import read
from ..submission.assignments import is_of_another
from .answers import moment
from .deadlines import deadlines_of
from .record import FLOOD, ROOM, Attempt, Bucket, Rules, TooMany, owner_of
from .settings import ALL, ROSTER, Settings
from .visitors import INSTRUCTOR, Refused, Visitor

if TYPE_CHECKING:
    from .desk import Desk

EVERYTHING = Bucket("all", 60, 20.0)  # hand-ins of one person, whatever is told of them


def require_member(desk: Desk, visitor: Visitor, settings: Settings | None = None) -> None:
    """Raises Refused unless a visitor may hand in: an instructor, or a student whom the course lets in."""
    if not is_limited(visitor):
        return
    who = (settings or desk.settings("")).who
    if visitor.student and visitor.student in Store(desk.root).dropped():
        raise Refused("You have left this class: ask your instructor if that is wrong.", 403)
    if who == ROSTER and visitor.student not in desk.book.students():
        raise Refused("You are not on the roster of this course: ask your instructor to add you.", 403)


def receive(desk: Desk, visitor: Visitor, assignment: str, exercise: str | None, data: bytes) -> Attempt:
    """Take a hand-in of a whole notebook, or for an answer on one exercise; returns its attempt, which is on disk.

    Raises Refused.
    """
    found = assignment_of(desk, assignment)
    settings = desk.settings(found.name)
    require_member(desk, visitor, settings)
    if exercise is not None and exercise not in {e.name for e in found.exercises}:
        known = ", ".join(e.name for e in found.exercises)
        raise Refused(f"{found.name} has no exercise {exercise[:80]!a}: it has {known}.", 404)
    deadline = deadlines_of(desk, visitor.student).of(found.name)
    if deadline.closes and deadline.is_over and visitor.role != INSTRUCTOR:
        raise Refused(f"{found.name} was due on {moment(deadline.closes)}: nothing is taken in after that.", 403)
    require_room(desk, visitor)
    try:
        data = notebook(found, data)
    except Refused:  # to read it has cost as much as if it was taken
        if is_limited(visitor):
            desk.record.charge(owner_of(visitor), EVERYTHING)
        raise
    exercises = [exercise] if exercise else [e.name for e in found.exercises]
    rounds = Rounds(Store(desk.root), found.name)
    theirs = rounds.of.get(visitor.student, {}) if visitor.student else {}
    try:
        return desk.record.hand_in(
            visitor,
            found.name,
            exercise,
            data,
            rules_for(visitor, found.name, exercise, settings),
            exercises,
            rounds.seed,
            least=max(rounds.floor, 1 + max(theirs.values(), default=-1)),
            known=theirs,
        )
    except TooMany as over:
        raise Refused(too_many(over, exercise), 429, over.again) from None


def require_room(desk: Desk, visitor: Visitor) -> None:
    """Raises Refused if a visitor has handed in too often, or too much: to be asked before a body is read."""
    if is_limited(visitor):
        try:
            desk.record.require(owner_of(visitor), (EVERYTHING, ROOM))
        except TooMany as over:
            raise Refused(too_many(over, None), 429, over.again) from None


def is_limited(visitor: Visitor) -> bool:
    """Whether limits are for a visitor: not for an instructor, or for who is alone on this machine."""
    return visitor.role != INSTRUCTOR and visitor.door != "me"


def assignment_of(desk: Desk, name: str) -> course.Assignment:
    """The assignment with this name, if it is built. Raises Refused."""
    if name not in desk.book.assignments():
        known = ", ".join(desk.book.assignments()) or "none"
        raise Refused(f"There is no assignment {name[:80]!a}: the course has {known}.", 404)
    return course.assignments(desk.root)[name]


def rules_for(visitor: Visitor, assignment: str, exercise: str | None, settings: Settings) -> Rules:
    """What applies to a visitor's hand-in."""
    if not is_limited(visitor):
        return Rules(ALL)
    bucket = Bucket(assignment, settings.at_once, settings.every * 60.0)
    return Rules(settings.tell, bucket, settings.limit, (EVERYTHING, ROOM), or_nothing=exercise is not None)


def notebook(assignment: course.Assignment, data: bytes) -> bytes:
    """The notebook, without its outputs if it is large. Raises Refused unless it is one, of no other assignment."""
    try:
        data = read.slim(data)
        cells = read.read_notebook(data)
    except Unreadable as problem:
        raise Refused(str(problem), 422) from None
    if other := is_of_another(assignment, cells):
        raise Refused(f"This notebook has the cells of {other}, not of {assignment.name}: hand it in there.", 422)
    return data


def too_many(over: TooMany, exercise: str | None) -> str:
    """What to say to someone who is over a limit, with the time when it works again."""
    if over.again is None:  # IN_ALL
        return f"You have had all answers on `{exercise}` that the course gives: hand in as before, it is received."
    then = moment(datetime.now(UTC) + timedelta(seconds=over.again + 59))
    if over.what == FLOOD:
        return f"You hand in too often: it works again at {then}."
    return f"You have had your answers for now: it works again at {then}. To hand in works meanwhile."
