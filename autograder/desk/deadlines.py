"""Until when a student may hand in an assignment at the desk, what late days that costs, and what is said of it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import CourseError
from ..grading import late_days
from ..grading.late_days import HandIn, LateDays
from ..grading.store import Store
from ..report.gradebook_marks import due_with
from .logs import Log
from .record import DONE, Attempt, Record, of_student
from .settings import BEST, LAST, Settings

if TYPE_CHECKING:
    from .desk import Desk
    from .gradebook_reader import GradebookReader


@dataclass(frozen=True)
class Deadline:
    """When an assignment is due for the class and for one student, and when it closes: None is never.

    `is_extended`, `is_paused`: by an extension, a pause. `is_excused`: it does not count for the student, who may hand
    it in for feedback at any time. Of late days, so many are `spent` by the hand-in that counts, so many are `left` in
    the course, and so many days late may the next be (`reach`).
    """

    of_class: datetime | None
    due: datetime | None
    closes: datetime | None
    is_extended: bool = False
    is_paused: bool = False
    is_excused: bool = False
    rules: LateDays = LateDays()
    spent: int = 0
    left: int = 0
    reach: int = 0

    @property
    def is_over(self) -> bool:
        """Whether nothing is taken in any more."""
        return self.closes is not None and datetime.now(UTC) > self.closes

    @property
    def counts_until(self) -> datetime | None:
        """Until when the hand-in that counts is in time: with the late days that it spends."""
        return due_with(self.due, timedelta(days=self.spent))

    @property
    def has_late_days(self) -> bool:
        """Whether a late hand-in may use late days."""
        return bool(self.rules.budget) and self.due is not None and not self.is_excused

    def days_late(self, at: datetime) -> int:
        """How many days late a hand-in is."""
        return late_days.days_late(at, self.due)

    def said_of(self, attempt: Attempt) -> str:
        """What an attempt on a whole notebook costs, in a sentence; "" if nothing."""
        days = self.days_late(attempt.arrived) if self.has_late_days and attempt.exercise is None else 0
        if not days:
            return ""
        if days == self.spent:
            return f"It came late, and uses {_days(days)}, if it counts: {_are_left(self.left)}."
        if days <= self.reach:
            return f"It came late, and would use {_days(days)}, if it counted."
        return f"It came {_days(days, 'day')} late: your late days do not cover all of that."

    def said_left(self) -> str:
        """How many late days a student has left, in a sentence; "" where there are none."""
        if not self.has_late_days:
            return ""
        return f"{_are_left(self.left, f'of your {_days(self.rules.budget)} ')}."

    def said_here(self, now: datetime) -> str:
        """What late days this assignment has cost, and what a hand-in now would; "" where there are none."""
        if not self.has_late_days:
            return ""
        days = self.days_late(now)
        said = [f"Your hand-in here uses {_days(self.spent)}."] if self.spent else []
        if not days:
            said += [f"You can hand in up to {_days(self.reach, 'day')} late with them."] if self.reach else []
        elif days <= self.reach:
            said.append(f"A hand-in now uses {_days(days)} here, if it counts.")
        else:
            said.append("Late days do not cover a hand-in now.")
        return " ".join(said)


def _days(many: int, kind: str = "late day") -> str:
    return f"{many} {kind}{'' if many == 1 else 's'}"


def _are_left(many: int, of: str = "") -> str:
    return f"{many} {of}{'is' if many == 1 else 'are'} left"


class Deadlines:
    """The deadlines of one student ("" is who is none). `settings` are those of an assignment, `rules` the course's.

    Raises CourseError and SQLAlchemy's errors.
    """

    def __init__(
        self,
        root: Path,
        record: Record,
        book: GradebookReader,
        settings: Callable[[str], Settings],
        student: str,
        rules: LateDays | None = None,
    ) -> None:
        self.record, self.book, self.settings, self.student = record, book, settings, student
        self.results = Store(root)
        self.rules = LateDays() if not student else late_days.of_course(root) if rules is None else rules
        self._due = functools.cache(functools.partial(self.book.due, student=student))

    def of(self, assignment: str) -> Deadline:
        """The Deadline for an assignment."""
        own, settings = self._due(assignment), self.settings(assignment)
        is_excused, spent = self._is_excused(assignment), self._spent
        # where the last one counts in any case, one handed in now has its turn after all other assignments'
        others = self._spent_but(assignment) if settings.takes_late else spent
        reach = self.rules.reach(others, assignment)
        closes = None if settings.takes_late or is_excused else due_with(own.at, timedelta(days=reach))
        return Deadline(
            self.book.assignments().get(assignment),
            own.at,
            closes,
            own.is_extended,
            own.is_paused,
            is_excused,
            self.rules,
            spent.get(assignment, 0),
            max(0, self.rules.budget - sum(spent.values())),
            reach,
        )

    def _is_excused(self, assignment: str) -> bool:
        return self.student in self.results.excused(assignment)

    @functools.cached_property
    def _spent(self) -> dict[str, int]:
        """The late days that the student's hand-ins spend, by assignment."""
        return self._spent_but()

    def _spent_but(self, *forget: str) -> dict[str, int]:
        """The late days that are spent if the student had handed in nothing of these assignments."""
        if not self.rules.budget:
            return {}
        excused = [name for name in self.book.assignments() if self._is_excused(name)]
        return late_days.spent(self._handed_in, lambda name: self._due(name).at, self.rules, [*excused, *forget])

    @functools.cached_property
    def _handed_in(self) -> list[HandIn]:
        return [*self._hand_ins()]

    def _hand_ins(self) -> Iterator[HandIn]:
        """What the student has handed in: at the desk, and by other ways, of which the gradebook has the last."""
        there, arrived = self.book.assignments(), set[tuple[str, datetime]]()
        attempts = self.record.attempts(of_student(self.student), whole=True)
        for number, one in enumerate(one for one in attempts if one.assignment in there):
            counts = self.settings(one.assignment).counts
            arrived.add((one.assignment, one.arrived.replace(microsecond=0)))
            if counts != BEST:
                yield HandIn(one.assignment, one.arrived, number, is_forced=counts != LAST)
            elif one.state == DONE and one.score is not None:
                yield HandIn(one.assignment, one.arrived, one.score)
        for name, at in self.book.hand_ins(self.student).items():
            if name in there and (name, at) not in arrived:
                yield HandIn(name, at, is_forced=True)


def deadlines_of(desk: Desk, student: str) -> Deadlines:
    """The Deadlines of a student of a desk's course."""
    return Deadlines(desk.root, desk.record, desk.book, desk.settings, student, rules_of(desk.root))


def rules_of(root: Path) -> LateDays:
    """The LateDays of a desk's course, or, while its configuration cannot be read, those that it had before.

    Whoever hands in does not have to wait until an instructor has written a line to its end. Raises CourseError.
    """
    try:
        _rules[root] = late_days.of_course(root)
    except CourseError as problem:
        if root not in _rules:
            raise
        Log(__name__).error("late days stay as they were: %s", problem)
    return _rules[root]


_rules: dict[Path, LateDays] = {}
