"""What waits for an instructor at the desk, in lines for a mail: counts, and no student's name or code."""

from __future__ import annotations

from collections import Counter
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
    number = complaints.count(record)
    if not number:
        return []
    open_ = complaints.waiting(record)
    about = Counter(f"{one.exercise} ({one.assignment})" for one in open_)
    said = ", ".join(f"{many} about {what}" for what, many in sorted(about.items()))
    rest = f", {number - len(open_)} about others" if number > len(open_) else ""
    return [f"Complaints without an answer: {number}, the oldest of {moment(open_[0].made)}. {said}{rest}."]


def _deliveries(record: Record) -> list[str]:
    number = deliveries.count(record)
    return [f"Results that the learning platform has not taken: {number}."] if number else []


def _attempts(record: Record) -> list[str]:
    begun = {name: one.waiting for name, one in overview.begun(record).items() if one.waiting}
    said = ", ".join(f"{many} of {name}" for name, many in sorted(begun.items()))
    return [f"Attempts that are not graded yet: {said}."] if begun else []
