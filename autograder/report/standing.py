"""What a gradebook holds of a student and an assignment, as the instructor's pages show it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import timedelta

from ..course import Assignment
from ..verdict import Verdict, printable


@dataclass(frozen=True)
class Mark:
    """The points for a graded cell: `auto` is what grading gave, `manual` what a person did, None where neither did.

    `extra` is in the score. `waits`: a person has yet to look at it.
    """

    max_score: float
    auto: float | None = None
    manual: float | None = None
    extra: float = 0.0
    waits: bool = False

    @property
    def score(self) -> float:
        given = self.auto if self.manual is None else self.manual
        return 0.0 if given is None else given + self.extra

    @property
    def by_hand(self) -> bool:
        """Whether a person has given other points than grading did."""
        return self.auto is not None and self.manual is not None and abs(self.manual - self.auto) > 1e-9


@dataclass(frozen=True)
class Standing:
    """A student of the gradebook's roster. `marks` are by the names of cells, None if nothing was handed in.

    `late` is how long after the due date, with the student's extension, it was handed in. `page` is the number by which
    Formgrader knows the notebook.
    """

    student: str
    first: str = ""
    last: str = ""
    marks: dict[str, Mark] | None = None
    penalty: float = 0.0
    late: timedelta | None = None
    page: str = ""

    @property
    def name(self) -> str:
        """Last name and first name; the id if the roster has neither."""
        return printable(", ".join(filter(None, (self.last, self.first)))) or self.student

    @property
    def order(self) -> tuple[str, str]:
        """By this, a class is sorted."""
        return self.name.casefold(), self.student

    @property
    def handed_in(self) -> bool:
        return self.marks is not None

    @property
    def score(self) -> float:
        """The points so far, with what is taken off for being late; never less than 0, as nbgrader exports it."""
        return max(0.0, sum(mark.score for mark in (self.marks or {}).values()) - self.penalty)

    @property
    def waiting(self) -> list[str]:
        """The cells that a person has yet to look at."""
        return [name for name, mark in (self.marks or {}).items() if mark.waits]


@dataclass(frozen=True)
class Roster:
    """The class, sorted by name; `max_score` is what the assignment is worth, `by_hand` its cells graded by hand."""

    standings: list[Standing]
    max_score: float
    by_hand: list[str] = field(default_factory=list)

    @property
    def handed_in(self) -> list[Standing]:
        return [one for one in self.standings if one.handed_in]

    @property
    def missing(self) -> list[Standing]:
        """Those who have not handed in."""
        return [one for one in self.standings if not one.handed_in]

    @property
    def waiting(self) -> int:
        """How many answers wait to be graded by hand."""
        return sum(len(one.waiting) for one in self.standings)


def of_verdicts(assignment: Assignment, verdicts: Iterable[tuple[str, Verdict]]) -> Roster:
    """The Roster as it would be if nobody had changed anything in the gradebook."""
    standings = []
    for student, verdict in verdicts:
        found = [(exercise, verdict.exercise(exercise.name)) for exercise in assignment.exercises]
        marks = {e.grade_id: Mark(e.points, outcome.score) for e, outcome in found if outcome}
        standings.append(Standing(student, marks=marks))
    return Roster(sorted(standings, key=lambda one: one.order), sum(e.points for e in assignment.exercises))


def duration(time: timedelta) -> str:
    """A length of time in words, rounded to what matters: `3 days`, `5 hours`, `1 minute`."""
    seconds = time.total_seconds()
    for unit, size in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= size:
            many = int(seconds // size)
            return f"{many} {unit}{'' if many == 1 else 's'}"
    return "less than a minute"
