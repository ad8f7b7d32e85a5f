"""Until when a student may hand in an assignment at the desk, and what else the student is told of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ..grading.store import Store

if TYPE_CHECKING:
    from .desk import Desk
    from .settings import Settings


@dataclass(frozen=True)
class Deadline:
    """When an assignment is due for the class and for one student, and when it closes: None is never.

    `is_excused`: it does not count for the student, who may hand it in for feedback at any time.
    """

    of_class: datetime | None
    due: datetime | None
    closes: datetime | None
    is_excused: bool

    @property
    def is_over(self) -> bool:
        """Whether nothing is taken in any more."""
        return self.closes is not None and datetime.now(UTC) > self.closes


def deadline_of(desk: Desk, assignment: str, student: str, settings: Settings) -> Deadline:
    """The Deadline of a student ("" is who is none) for an assignment that the gradebook has."""
    due, is_excused = desk.book.due(assignment, student), student in Store(desk.root).excused(assignment)
    closes = None if settings.takes_late or is_excused else due
    return Deadline(desk.book.assignments()[assignment], due, closes, is_excused)
