"""Which of a student's attempts counts: the last in time, the best in time, or the last whatever its time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from .record import DONE, Attempt
from .settings import BEST, LATEST


def is_late(attempt: Attempt, due: datetime | None) -> bool:
    """Whether an attempt came after the due date, to the second, as the gradebook keeps times."""
    return due is not None and attempt.arrived.replace(microsecond=0) > due


def counted(attempts: Sequence[Attempt], counts: str, due: datetime | None) -> Attempt | None:
    """The attempt that counts of one student's on an assignment, one of COUNTING saying which; None if none does.

    Attempts on one exercise alone do not count. Of the best, which must be graded, the later one counts.
    """
    whole = sorted((one for one in attempts if one.exercise is None), key=lambda one: (one.arrived, one.number))
    if counts != LATEST:
        whole = [one for one in whole if not is_late(one, due)]
    if counts == BEST:
        graded = [one for one in whole if one.state == DONE and one.score is not None]
        return max(graded, key=lambda one: (one.score or 0.0, one.arrived, one.number), default=None)
    return whole[-1] if whole else None
