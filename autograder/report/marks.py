"""The points of a submission as the gradebook has them: what the kit gave, what a person gave, what still waits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True)
class Mark:
    """The points of one graded cell. `auto` is the kit's, `manual` a person's, and None where there are none yet."""

    max_score: float
    auto: float | None = None
    manual: float | None = None
    extra: float = 0.0

    @property
    def waits(self) -> bool:
        """Whether a person still has to give the points."""
        return self.auto is None and self.manual is None

    @property
    def is_changed(self) -> bool:
        """Whether a person gave other points than the kit."""
        return self.auto is not None and self.manual is not None and self.manual != self.auto

    @property
    def score(self) -> float:
        """The points that count; 0 if none are given yet."""
        given = self.manual if self.manual is not None else self.auto
        return (given or 0.0) + self.extra


@dataclass(frozen=True)
class Marks:
    """All that the gradebook knows of a student's notebook: names, times (UTC), marks and comments by grade id.

    A comment is (text, whether a person wrote it).
    """

    student: str
    name: str
    marks: Mapping[str, Mark]
    comments: Mapping[str, tuple[str, bool]]
    handed_in: datetime | None = None
    due: datetime | None = None
    penalty: float = 0.0

    @property
    def late_by(self) -> timedelta | None:
        """How long after the due date it was handed in, or None if it was not late."""
        if self.handed_in is None or self.due is None or self.handed_in <= self.due:
            return None
        return self.handed_in - self.due

    @property
    def score(self) -> float:
        """The points so far."""
        return sum((mark.score for mark in self.marks.values()), 0.0) - self.penalty

    @property
    def max_score(self) -> float:
        """The points that can be had for all that is graded."""
        return sum(mark.max_score for mark in self.marks.values() if not mark.waits)

    @property
    def waiting(self) -> float:
        """The points that can be had for what is not graded yet."""
        return sum(mark.max_score for mark in self.marks.values() if mark.waits)
