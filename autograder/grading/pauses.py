"""Pauses: periods that do not count, for everybody or some students, in all assignments or some.

A deadline in a pause moves by its length, so that at the end of the pause as much time is left as there was at its
begin; one that comes soon after it moves, too, where less time than the pause has taken would be left.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

LONGEST = timedelta(days=366)
LATEST = datetime(9000, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, order=True)
class Pause:
    """A period (UTC) of these students and assignments; of all, where none is named."""

    begin: datetime
    end: datetime
    students: tuple[str, ...] = ()
    assignments: tuple[str, ...] = ()

    def is_for(self, student: str, assignment: str) -> bool:
        """Whether it is a student's, in an assignment; "" is who is none, for whom only everybody's are."""
        its = not self.students or student in self.students
        return its and (not self.assignments or assignment in self.assignments)

    def as_data(self) -> dict[str, Any]:
        """The pause as it is kept, JSON-able."""
        about = {"students": [*self.students], "assignments": [*self.assignments]}
        return {"begin": self.begin.isoformat(), "end": self.end.isoformat(), **about}


def from_data(data: object) -> Pause | None:
    """The inverse of `Pause.as_data`; None if the data are no pause."""
    if not isinstance(data, dict):
        return None
    try:
        begin, end = (datetime.fromisoformat(data[name]).astimezone(UTC) for name in ("begin", "end"))
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
    names = [data.get(name) for name in ("students", "assignments")]
    if not all(isinstance(some, list) and all(isinstance(one, str) for one in some) for some in names):
        return None
    students, assignments = (tuple(some or ()) for some in names)
    return Pause(begin, end, students, assignments) if _is_right(begin, end) else None


def _is_right(begin: datetime, end: datetime) -> bool:
    return begin < end <= LATEST and end - begin <= LONGEST


def moved(due: datetime | None, pauses: Iterable[Pause], student: str, assignment: str) -> datetime | None:
    """When an assignment is due for a student ("" for the class) that would be `due` (UTC, with a zone or without)."""
    its = [one for one in pauses if one.is_for(student, assignment)]
    if due is None or not its:
        return due
    at = due.replace(tzinfo=UTC)
    for begin, end in _joined(its):
        if begin < at < LATEST:
            at = max(at, min(at, end) + (end - begin))
    return at.replace(tzinfo=due.tzinfo)


def _joined(pauses: Iterable[Pause]) -> Iterator[tuple[datetime, datetime]]:
    """The periods in their order; those that overlap, or touch, as one."""
    periods = sorted((one.begin, one.end) for one in pauses)
    begin, end = periods[0]
    for next_begin, next_end in periods[1:]:
        if next_begin > end:
            yield begin, end
            begin, end = next_begin, next_end
        end = max(end, next_end)
    yield begin, end
