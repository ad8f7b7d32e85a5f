"""What waits for an instructor at the desk, in lines for a mail: counts, and no student's name or code."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from . import complaints, deliveries, overview
from .answers import moment

if TYPE_CHECKING:
    from .record import Record


def lines(record: Record, title: str) -> list[str]:
    """The lines, under a heading with the course's `title`; none if nothing waits."""
    found = [*_complaints(record), *_deliveries(record), *_attempts(record)]
    return [f"{title}: what waits at the desk, {moment(datetime.now(UTC))}", *found] if found else []


def _complaints(record: Record) -> list[str]:
    open_, about = complaints.waiting(record), complaints.counts(record)
    if not open_ or not about:
        return []
    said = ", ".join(f"{many} about {exercise} ({name})" for (exercise, name), many in sorted(about.items()))
    number = sum(about.values())
    return [f"Complaints without an answer: {number}, the oldest of {moment(open_[0].made)}. {said}."]


def _deliveries(record: Record) -> list[str]:
    number = deliveries.count(record)
    return [f"Results that the learning platform has not taken: {number}."] if number else []


def _attempts(record: Record) -> list[str]:
    begun = {name: one.waiting for name, one in overview.begun(record).items() if one.waiting}
    said = ", ".join(f"{many} of {name}" for name, many in sorted(begun.items()))
    return [f"Attempts that are not graded yet: {said}."] if begun else []
