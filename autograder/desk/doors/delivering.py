"""Gives points back while the desk is open: it looks at what was graded, whichever desk has done so, and delivers."""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from sqlalchemy.exc import SQLAlchemyError

from ... import course
from ...errors import UserError
from ...grading.store import Store
from ...report import lesson
from .. import answers, counting
from ..deadlines import deadlines_of
from ..logs import Log
from ..record import DONE
from ..settings import POINTS, may_tell
from .lti_services import Counted, Deliveries
from .opening import Opened

if TYPE_CHECKING:
    from ..desk import Desk

LOOK = 5.0  # seconds between two looks
OVERLAP = 60.0  # seconds of the last look that are looked at again: what ends together may be seen one after another


@contextlib.contextmanager
def delivering(desk: Desk, opened: Opened) -> Iterator[None]:
    """Deliver in the background, if there are platforms to deliver to."""
    if opened.lti is None:
        yield
        return
    over = threading.Event()
    thread = threading.Thread(target=_deliver, args=(desk, deliveries(desk, opened), over), daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(LOOK)


def deliveries(desk: Desk, opened: Opened) -> Deliveries:
    """What delivers the points of this desk's attempts."""
    assert opened.lti is not None

    def counted(owner: str, assignment: str) -> Counted | None:
        return points_that_count(desk, owner, assignment)

    def title(assignment: str) -> str:
        return lesson.of(course.assignments(desk.root)[assignment]).title

    return Deliveries(desk.record, opened.lti.key, opened.lti.platforms.values(), counted, title)


def points_that_count(desk: Desk, owner: str, assignment: str) -> Counted | None:
    """The attempt that counts now; None if there is none, if it is graded once more, if its student may not be told
    the points yet, or is excused.
    """
    about = course.assignments(desk.root).get(assignment)
    if about is None or assignment not in desk.book.assignments():
        return None
    student = owner.removeprefix("student:")
    deadline = deadlines_of(desk, student).of(assignment)
    if deadline.is_excused:
        return None
    attempts = desk.record.attempts(owner, assignment, whole=True)
    attempt = counting.counted(attempts, desk.settings(assignment).counts, deadline.counts_until)
    if attempt is None or attempt.state != DONE or attempt.again or attempt.score is None or attempt.max_score is None:
        return None
    if not may_tell(attempt.level, POINTS) or attempt.withheld:
        return None
    return Counted(attempt, attempt.score, attempt.max_score, not answers.written(about))


def look(desk: Desk, deliveries: Deliveries, since: float) -> float:
    """Note and send what there is to deliver; returns the time since when to look the next time."""
    ended = desk.record.attempts(states=(DONE,), whole=True, since=since)
    for student, owner, assignment in {(one.student, one.owner, one.assignment) for one in ended if one.student}:
        deliveries.note(student, owner, assignment)
    results = Store(desk.root)
    deliveries.settle({assignment: results.excused(assignment) for assignment in desk.book.assignments()})
    deliveries.send()
    latest = max((one.ended.timestamp() for one in ended if one.ended), default=since + OVERLAP)
    return max(since, latest - OVERLAP)


def _deliver(desk: Desk, deliveries: Deliveries, over: threading.Event) -> None:
    since, log = -math.inf, Log(__name__)
    while not over.wait(LOOK):
        try:
            since = look(desk, deliveries, since)
        except (SQLAlchemyError, OSError, UserError) as error:
            log.warning("points cannot be delivered at present: %s", str(error).split("\n")[0])
