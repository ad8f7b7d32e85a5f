"""When a class handed in: attempts by the hour, up to the due date."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime

import sqlalchemy as sa
from markupsafe import Markup
from sqlalchemy import func, select

from . import charts
from .addresses import Addresses
from .overview import IS_TEACHER
from .record import Attempt, Record
from .tables import ATTEMPT, PERSON

HOUR = 3600
MOST = 192  # bars: eight days by the hour
STEPS = (1, 2, 3, 6, 12, 24, 24 * 7, 24 * 28)  # hours of a bar
MARKS = 8  # words below the bars


@dataclass(frozen=True)
class Span:
    """The attempts of some time, in seconds since 1970."""

    since: int
    until: int
    count: int

    @property
    def start(self) -> datetime:
        return moment(self.since)


@dataclass(frozen=True)
class Timeline:
    """The spans from the first attempt until the due date, or the last attempt; `hours` are those of one."""

    spans: list[Span]
    hours: int
    due: float | None

    @property
    def each(self) -> str:
        """What a bar stands for."""
        return {1: "an hour", 24: "a day", 24 * 7: "a week"}.get(self.hours, f"{self.hours} hours")

    def picture(self, at: Addresses) -> Markup:
        """The bars, each with a link to its attempts."""
        every = max(1, math.ceil(len(self.spans) / MARKS))
        found = [
            charts.Bar(
                span.count,
                f"{span.start:%-d %b, %H:%M UTC}: {span.count} attempt{'' if span.count == 1 else 's'}",
                f"{span.start:%-d %b, %H:%M}" if number % every == 0 and number + every / 2 <= len(self.spans) else "",
                at.attempts(span.since, span.until),
            )
            for number, span in enumerate(self.spans)
        ]
        line = None if self.due is None else (self.due - self.spans[0].since) / (self.hours * HOUR)
        if line is not None and not 0 <= line <= len(self.spans):
            line = None
        return charts.bars(f"Attempts by {self.each}", found, line, "due")


def of(record: Record, assignment: str, due: datetime | None, now: datetime) -> Timeline | None:
    """The Timeline of an assignment; None if there is no attempt of a student."""
    by_hour = _by_hour(record, assignment)
    if not by_hour:
        return None
    first, last = min(by_hour), max(by_hour)
    if due is not None:
        # of a due date far ahead, no more than has gone by
        ahead = min(int(due.timestamp()) // HOUR, int(now.timestamp()) // HOUR + max(24, last - first))
        last = max(last, ahead)
    hours = next((step for step in STEPS if (last - first) // step < MOST), STEPS[-1])
    first -= first % hours
    spans = [0] * ((last - first) // hours + 1)
    for hour, count in by_hour.items():
        spans[(hour - first) // hours] += count
    made = [
        Span((first + n * hours) * HOUR, (first + (n + 1) * hours) * HOUR, count)
        for n, count in enumerate(spans[-4 * MOST :], max(0, len(spans) - 4 * MOST))
    ]
    return Timeline(made, hours, due.timestamp() if due else None)


def moment(seconds: int) -> datetime:
    """A time in seconds since 1970."""
    return datetime.fromtimestamp(seconds, UTC)


def _by_hour(record: Record, assignment: str) -> dict[int, int]:
    """How many attempts of students came in each hour since 1970 in which one came."""
    hours = ATTEMPT.c.arrived / sa.literal_column(str(HOUR))  # no parameter, which PostgreSQL would not group by
    # SQLite may have no floor, and its cast cuts off
    hour = sa.cast(hours if record.is_sqlite else func.floor(hours), sa.Integer)
    query = select(hour.label("hour"), func.count()).join(PERSON, PERSON.c.id == ATTEMPT.c.person)
    query = query.where(ATTEMPT.c.assignment == assignment, ~IS_TEACHER).group_by(hour)
    with record.reading() as connection:
        return {row.hour: row[1] for row in connection.execute(query)}


def attempts(record: Record, assignment: str, since: int, until: int, page: int, most: int) -> list[Attempt]:
    """The attempts of students of some time, in the order in which they came: `most` on each page, from 1."""
    query = select(ATTEMPT.c.id).join(PERSON, PERSON.c.id == ATTEMPT.c.person)
    query = query.where(
        ATTEMPT.c.assignment == assignment, ATTEMPT.c.arrived >= since, ATTEMPT.c.arrived < until, ~IS_TEACHER
    )
    query = query.order_by(ATTEMPT.c.arrived, ATTEMPT.c.id).limit(most).offset((page - 1) * most)
    with record.reading() as connection:
        ids = connection.execute(query).scalars().all()
    return record.attempts(ids=ids)
