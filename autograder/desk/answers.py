"""What the desk answers about attempts, assignments and people: JSON for `hand_in()`, and what the pages show."""

from __future__ import annotations

import functools
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from .. import course
from ..errors import Unreadable
from ..grading.store import Store
from ..report import lesson
from ..submission.read import read_notebook
from ..submission.restore import restore
from ..verdict import STOPPED, Verdict
from . import disclosure
from .deadlines import deadlines_of
from .disclosure import Told
from .record import DONE, Attempt, owner_of
from .settings import RECEIVED

if TYPE_CHECKING:
    from ..report.lesson import Blank
    from .desk import Desk
    from .record import Record
    from .visitors import Visitor

SCHEMA = 1
KEPT = 1_000  # hand-ins of which it is kept in memory which answers are blank
STOPPED_ONCE = (
    "Grading was cut short, by your code or by a busy machine. The desk tries once more as soon as nothing else waits:"
    " come back to this page then."
)
EXCUSED = "You are excused from this assignment: it does not count. You can hand in for feedback."
STOPPED_TWICE = "Grading was cut short twice, the second time with nothing else to do: look for what takes so long."


def moment(when: datetime) -> str:
    """A time for a reader."""
    return when.astimezone(UTC).strftime("%-d %B %Y, %H:%M UTC")


def receipt(attempt: Attempt) -> dict[str, Any]:
    """The receipt of an attempt, JSON-able."""
    return {
        "attempt": attempt.id,
        "number": attempt.number,
        "assignment": attempt.assignment,
        "exercise": attempt.exercise,
        "time": attempt.arrived.isoformat(),
        "sha256": attempt.sha256,
    }


def received(desk: Desk, attempt: Attempt) -> dict[str, Any]:
    """The answer to a hand-in."""
    return {
        "schema": SCHEMA,
        "receipt": receipt(attempt),
        "events": desk.path("api/attempts", attempt.id, "events"),
        "page": desk.path("attempts", attempt.id),
    }


def known(desk: Desk, attempt: Attempt) -> list[Told]:
    """What may be told of the exercises of an attempt so far, with the names that the instructor has given since."""
    if attempt.state != DONE:
        early = desk.queue.outcomes(attempt.id).values() if desk.queue else ()
        return in_order(attempt, [disclosure.told(o, attempt.level, attempt.withheld) for o in early])
    verdict = verdict_of(desk, attempt)
    if verdict is None:
        return []
    return [disclosure.told(outcome, attempt.level, attempt.withheld) for outcome in verdict.exercises]


def in_order(attempt: Attempt, told: Sequence[Told]) -> list[Told]:
    """What is told of exercises, in the order of their notebook."""
    order = [exercise.name for exercise in course.assignments()[attempt.assignment].exercises]
    return sorted(told, key=lambda one: order.index(one["exercise"]))


def verdict_of(desk: Desk, attempt: Attempt) -> Verdict | None:
    """The whole verdict on an attempt, with the instructor's names; None if it is not graded yet."""
    verdict = desk.record.verdict(attempt.id)
    return verdict and Store(desk.root).names.told(verdict)


def whole(desk: Desk, attempt: Attempt) -> dict[str, Any]:
    """An attempt as JSON: its state, and all that may be told of it."""
    exercises = known(desk, attempt)
    scores = [one["score"] for one in exercises if one["score"] is not None]
    is_told = attempt.state == DONE and attempt.level != RECEIVED
    found = course.assignments()[attempt.assignment]
    blank = list(blank_in(desk.record, attempt.sha256, found)) if is_told and not attempt.exercise else []
    left = {one["id"] for one in blank}
    return {
        "schema": SCHEMA,
        "state": attempt.state,
        "ahead": 0 if attempt.state == DONE else desk.record.ahead(attempt),
        "receipt": receipt(attempt),
        "points": sum(scores) if is_told and scores else None,
        "max_points": attempt.max_score if is_told else None,
        "exercises": exercises,
        "changes": changes(desk, attempt, exercises) if attempt.state == DONE else [],
        "written": [] if attempt.exercise else written(found, left),
        "blank": blank,
        "note": note(desk, attempt),
        "page": desk.path("attempts", attempt.id),
    }


def note(desk: Desk, attempt: Attempt) -> str:
    """What else to say about an attempt, in a sentence; "" if nothing."""
    if attempt.state != DONE:
        problem = desk.queue.problem(attempt.assignment) if desk.queue else ""
        if not problem and desk.queue and desk.queue.is_trying(attempt.assignment):
            return "The assignment itself is tried first, once: that takes a minute."
        if not problem and (until := desk.record.rests_until(attempt.owner)):
            return f"Your last attempts took long to grade. This one lets others go first, until {moment(until)}."
        return (
            f"Nothing is graded at present. {problem} What you handed in is kept, and is graded then."
            if problem
            else ""
        )
    if attempt.level == RECEIVED:
        if desk.settings(attempt.assignment).tell == RECEIVED:
            return "The desk has received it. Feedback comes later."
        return "The desk has received it, and it may count. You have had your answers for now: it gets no feedback."
    if attempt.again:
        return STOPPED_ONCE
    if any(one["status"] in STOPPED for one in attempt.told or ()):
        return STOPPED_TWICE
    deadline = deadlines_of(desk, attempt.student).of(attempt.assignment)
    return EXCUSED if deadline.is_excused else deadline.said_of(attempt)


def written(assignment: course.Assignment, blank: Collection[str] = ()) -> list[str]:
    """The headings of the questions that a person grades, but for those left `blank`."""
    about = lesson.of(assignment)
    graded = [c.grade_id for c in assignment.cells if c.grade and not c.exercise and c.grade_id not in blank]
    return [about.heading(name) or name for name in graded]


@functools.lru_cache(maxsize=KEPT)
def blank_in(record: Record, sha256: str, assignment: course.Assignment) -> tuple[Blank, ...]:
    """The written answers of what was handed in that are blank."""
    if not assignment.points_by_hand:
        return ()
    try:
        cells = restore(read_notebook(record.content(sha256)), assignment.cells, assignment)
    except Unreadable:
        return ()
    return tuple(lesson.blank_answers(assignment.name, cells))


def changes(desk: Desk, attempt: Attempt, now: Sequence[Told]) -> list[str]:
    """What changed since the person's attempt before, as sentences: of a whole notebook, the whole one before."""
    before = desk.record.before(attempt)
    return disclosure.changes(known(desk, before), now) if before else []


@dataclass(frozen=True)
class Progress:
    """How far a person is with an assignment. `points` are those of the best that was told, None if none were."""

    name: str
    title: str
    due: datetime | None
    is_extended: bool
    is_paused: bool
    is_excused: bool
    points: float | None
    max_points: float
    attempts: int
    waiting: int
    left: int | None
    again: float | None
    tells: str
    is_over: bool
    late_left: str
    late_here: str
    next: str


def progress(desk: Desk, visitor: Visitor, only: str | None = None) -> list[Progress]:
    """How far a visitor is with each assignment, or with one. It costs as much for a thousand attempts as for one."""
    owner, deadlines, now = owner_of(visitor), deadlines_of(desk, visitor.student), datetime.now(UTC)
    counts, all_best = desk.record.counts(owner), desk.record.best(owner)
    found = []
    for name, about in course.assignments().items():
        if name not in desk.book.assignments() or only not in (None, name):
            continue
        settings = desk.settings(name)
        deadline = deadlines.of(name)
        best, (attempts, waiting) = all_best.get(name, {}), counts.get(name, (0, 0))
        left, again = desk.record.left(owner, name, settings.at_once, settings.every * 60.0)
        open_ = [e.name for e in about.exercises if best.get(e.name) != e.points]
        found.append(
            Progress(
                name=name,
                title=lesson.of(about).title,
                due=deadline.due,
                is_extended=deadline.is_extended,
                is_paused=deadline.is_paused,
                is_excused=deadline.is_excused,
                points=sum(best.values()) if best else None,
                max_points=sum(e.points for e in about.exercises),
                attempts=attempts,
                waiting=waiting,
                left=left,
                again=again,
                tells=settings.tell,
                is_over=deadline.is_over,
                late_left=deadline.said_left(),
                late_here=deadline.said_here(now),
                next=open_[0] if open_ else "",
            )
        )
    return found


def me(desk: Desk, visitor: Visitor) -> dict[str, Any]:
    """Who a visitor is, and how far with each assignment, as JSON."""
    return {
        "schema": SCHEMA,
        "name": visitor.name,
        "student": visitor.student,
        "role": visitor.role,
        "assignments": [
            {
                "name": one.name,
                "title": one.title,
                "due": one.due.isoformat() if one.due else None,
                "is_extended": one.is_extended,
                "is_paused": one.is_paused,
                "is_excused": one.is_excused,
                "points": one.points,
                "max_points": one.max_points,
                "attempts": one.attempts,
                "tells": one.tells,
                "answers_left": one.left,
                "again": one.again,
                "is_over": one.is_over,
                "late_days": f"{one.late_left} {one.late_here}".strip(),
                "next": one.next,
            }
            for one in progress(desk, visitor)
        ],
    }
