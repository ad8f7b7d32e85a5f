"""The gradebook's data on a submission and on a class, as pages and tables show it.

That is which points were given by hand, wait, came late or are extra. `nbgrader/standings.py` reads it; what a check
found is in the Verdict alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ..course import Assignment
from ..verdict import Verdict, printable
from .outcome_text import name_of, points


@dataclass(frozen=True)
class Mark:
    """The points of one graded cell. `exercise` is "" for an answer that a person grades.

    `auto` is what the kit gave, `by_hand` what a person gave instead, either None if nothing; `waits` says that a
    person has to look at it. `again`: it was graded by hand, and what was handed in has changed since.
    """

    cell: str
    exercise: str
    auto: float | None
    by_hand: float | None
    extra: float
    max_score: float
    waits: bool

    @property
    def score(self) -> float:
        """The points that count at present, with extra credit; as nbgrader, 0 for what nobody has graded yet."""
        given = self.auto if self.by_hand is None else self.by_hand
        return 0.0 if given is None else given + self.extra

    @property
    def ungraded(self) -> bool:
        """Whether it has no points yet, so that it counts neither for nor against a student."""
        return self.waits and self.auto is None and self.by_hand is None

    @property
    def is_blank(self) -> bool:
        """Whether it is a question that was not answered, and has 0 points for that alone."""
        return not self.exercise and self.auto == 0 and self.by_hand is None and not self.waits

    @property
    def again(self) -> bool:
        return self.waits and self.by_hand is not None

    @property
    def changed_by_hand(self) -> bool:
        """Whether a person gave an exercise other points than its checks."""
        return bool(self.exercise) and self.by_hand is not None and self.by_hand != self.auto


@dataclass(frozen=True)
class Standing:
    """What the gradebook holds for a student's submission of an assignment.

    `handed_in` and `due` are in UTC, or None if unknown; `due` has the student's extension in it. `penalty` is what is
    taken off for being late. `is_excused`: it does not count for the student. `due` has the `late_days` in it that the
    hand-in spends.
    """

    marks: tuple[Mark, ...]
    handed_in: datetime | None = None
    due: datetime | None = None
    penalty: float = 0.0
    is_excused: bool = False
    late_days: int = 0

    def of_cell(self, cell: str) -> Mark | None:
        return next((mark for mark in self.marks if mark.cell == cell), None)

    def of_exercise(self, exercise: str) -> Mark | None:
        return next((mark for mark in self.marks if mark.exercise == exercise), None)

    @property
    def score(self) -> float:
        """The total at present, with the penalty taken off; never below 0, as in `nbgrader export`."""
        return max(0.0, sum(mark.score for mark in self.marks) - self.penalty)

    @property
    def max_score(self) -> float:
        return sum(mark.max_score for mark in self.marks)

    @property
    def so_far(self) -> float:
        """The points that could be had at present: those of all cells but the ones not graded yet."""
        return sum(mark.max_score for mark in self.marks if not mark.ungraded)

    @property
    def to_come(self) -> float:
        """The points of everything that is not graded yet."""
        return self.max_score - self.so_far

    @property
    def waiting(self) -> list[Mark]:
        """The marks that a person has to look at."""
        return [mark for mark in self.marks if mark.waits]

    @property
    def extra(self) -> float:
        return sum(mark.extra for mark in self.marks)

    @property
    def late(self) -> timedelta:
        """How late it was handed in; zero if it was in time, or does not count."""
        if self.handed_in is None or self.due is None or self.is_excused:
            return timedelta()
        return max(timedelta(), self.handed_in - self.due)

    def total(self) -> str:
        """The total as tables show it: "23 of 24 so far" while something is not graded, else "26.5 / 28"."""
        score = points(round(self.score, 4))
        if any(mark.ungraded for mark in self.marks):
            return f"{score} of {points(self.so_far)} so far"
        return f"{score} / {points(self.max_score)}"

    def late_sentence(self) -> str:
        """How late it was handed in, and what that costs: "2 days 2 hours late, 4 points off"; "" if in time."""
        late = [f"{self.late_days} late day{'' if self.late_days == 1 else 's'}"] if self.late_days else []
        late += [f"{duration(self.late)} late"] if self.late else []
        off = [f"{points(round(self.penalty, 4))} points off"] if self.penalty else []
        return ", ".join(late + off)


@dataclass(frozen=True)
class GradedNotebook:
    """A student's notebook as the gradebook has it: the student, its points, and the comments on it by grade id.

    A comment is (text, whether a person wrote it).
    """

    student: str
    name: str
    standing: Standing
    comments: Mapping[str, tuple[str, bool]]


@dataclass(frozen=True)
class Member:
    """A student of the gradebook's roster; without a `standing`, nothing was handed in.

    `page` is the number by which Formgrader knows the notebook.
    """

    student: str
    first: str = ""
    last: str = ""
    standing: Standing | None = None
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
    def score(self) -> float:
        return self.standing.score if self.standing else 0.0

    @property
    def penalty(self) -> float:
        return self.standing.penalty if self.standing else 0.0

    @property
    def late(self) -> timedelta:
        return self.standing.late if self.standing else timedelta()

    @property
    def waiting(self) -> list[str]:
        """The cells that a person has yet to look at."""
        return [mark.cell for mark in self.standing.waiting] if self.standing else []

    def mark(self, cell: str) -> Mark | None:
        return self.standing.of_cell(cell) if self.standing else None


@dataclass(frozen=True)
class Roster:
    """The class, sorted by name; `max_score` is what the assignment is worth, `by_hand` its cells graded by hand.

    Those for whom it does not count are not among the `members`, but `excused`.
    """

    members: list[Member]
    max_score: float
    by_hand: list[str] = field(default_factory=list)
    excused: list[Member] = field(default_factory=list)

    @property
    def handed_in(self) -> list[Member]:
        return [one for one in self.members if one.standing]

    @property
    def missing(self) -> list[Member]:
        """Those who have not handed in."""
        return [one for one in self.members if not one.standing]

    @property
    def waiting(self) -> int:
        """How many answers wait to be graded by hand."""
        return sum(len(one.waiting) for one in self.members)


def of_verdicts(assignment: Assignment, verdicts: Iterable[tuple[str, Verdict]]) -> Roster:
    """The Roster as it would be if nobody had changed anything in the gradebook."""
    members = []
    for student, verdict in verdicts:
        found = [(exercise, verdict.exercise(exercise.name)) for exercise in assignment.exercises]
        marks = [Mark(e.grade_id, e.name, outcome.score, None, 0.0, e.points, False) for e, outcome in found if outcome]
        members.append(Member(student, standing=Standing(tuple(marks))))
    return Roster(sorted(members, key=lambda one: one.order), sum(e.points for e in assignment.exercises))


def due_with(due: datetime | None, extension: timedelta | None) -> datetime | None:
    """The due date of a student, who may have an extension. Where no calendar has such a date, the class's stands."""
    try:
        return due + extension if due and extension else due
    except OverflowError:
        return due


MOST = 10  # names in a sentence, at most


def duration(late: timedelta) -> str:
    """How late something is, for a reader: "2 days 3 hours", "1 hour 5 minutes", "1 minute"."""
    minutes = max(1, int(late.total_seconds()) // 60)
    parts = [(minutes // 1440, "day"), (minutes // 60 % 24, "hour"), (minutes % 60, "minute")]
    said = [f"{many} {unit}{'' if many == 1 else 's'}" for many, unit in parts if many]
    return " ".join(said[:2])


def waiting_sentence(standings: Mapping[str, Standing] | Iterable[Standing]) -> str:
    """How many answers of a class wait to be graded by hand, in one sentence; "" if none."""
    each = standings.values() if isinstance(standings, Mapping) else standings
    waiting = [marks for standing in each if (marks := standing.waiting)]
    many, again = sum(map(len, waiting)), sum(mark.again for marks in waiting for mark in marks)
    if not many:
        return ""
    wait = "answer waits" if many == 1 else "answers wait"
    by = f"from {len(waiting)} student{'' if len(waiting) == 1 else 's'}"
    changed = f"; {again} of them graded before, and changed since" if again else ""
    return f"{many} {wait} to be graded by hand, {by}{changed}."


def blank_sentence(standings: Mapping[str, Standing]) -> str:
    """How many written answers of a class were left blank, in one sentence; "" if none."""
    blank = [many for one in standings.values() if (many := sum(mark.is_blank for mark in one.marks))]
    if not blank:
        return ""
    were = "written answer is blank and has" if sum(blank) == 1 else "written answers are blank and have"
    return f"{sum(blank)} {were} 0 points, from {len(blank)} student{'' if len(blank) == 1 else 's'}."


def again_sentence(standings: Mapping[str, Standing]) -> str:
    """The answers that have changed since a person graded them, in one sentence; "" if there are none."""
    found = [
        f"{name_of(student)} ({', '.join(mark.exercise or mark.cell for mark in standing.waiting if mark.again)})"
        for student, standing in sorted(standings.items())
        if any(mark.again for mark in standing.marks)
    ]
    more = f" and {len(found) - MOST} more" if len(found) > MOST else ""
    return f"Changed since they were graded by hand: {', '.join(found[:MOST])}{more}." if found else ""


def totals_sentence(standings: Mapping[str, Standing]) -> str:
    """The class's totals in one sentence: the mean of what is graded so far; "" without a class."""
    each = [one for one in standings.values() if not one.is_excused]
    if not each:
        return ""
    mean, most = (sum(values) / len(each) for values in ([s.score for s in each], [s.so_far for s in each]))
    so_far = " so far" if any(mark.ungraded for s in each for mark in s.marks) else ""
    many = f"{len(each)} student{'' if len(each) == 1 else 's'}"
    return (
        f"{many} in the gradebook, with {points(round(mean, 1))} of {points(round(most, 1))} points{so_far} on average."
        f"{excused_sentence(len(standings) - len(each))}"
    )


def excused_sentence(many: int) -> str:
    """How many are left out of a mean, as a sentence that follows one; "" if nobody is."""
    return f" {many} {'is' if many == 1 else 'are'} excused, and left out." if many else ""
