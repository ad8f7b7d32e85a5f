"""The page that compares a class with last year's, by exercise and by mistake, from the latest results of both.

Differences of shares have their 95% intervals by Newcombe's hybrid score method (method 10 in Newcombe 1998,
"Interval estimation for the difference between independent proportions", Statistics in Medicine 17, 873-890).
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .. import course
from ..errors import UsageError
from ..grading import store
from ..grading.store import Store
from ..verdict import Outcome, Verdict
from .class_report import named_in
from .pages import environment

Z = statistics.NormalDist().inv_cdf(0.975)  # of a 95% interval
FEW = 10  # students of a year, below which hardly any difference is clear


class NothingGraded(UsageError):
    """A year has no results of an assignment."""


@dataclass(frozen=True)
class Share:
    """So many of so many students."""

    many: int
    of: int

    @property
    def rate(self) -> float:
        return self.many / self.of if self.of else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95% interval of the rate."""
        if not self.of:
            return 0.0, 1.0
        middle, square = self.rate + Z * Z / (2 * self.of), self.rate * (1 - self.rate) / self.of
        spread = Z * math.sqrt(square + Z * Z / (4 * self.of**2))
        whole = 1 + Z * Z / self.of
        return max(0.0, (middle - spread) / whole), min(1.0, (middle + spread) / whole)


@dataclass(frozen=True)
class Change:
    """A share of last year's class and of this year's."""

    then: Share
    now: Share

    @property
    def difference(self) -> float:
        return self.now.rate - self.then.rate

    @property
    def interval(self) -> tuple[float, float]:
        """The 95% interval of the difference."""
        (low, high), (low_then, high_then) = self.now.interval, self.then.interval
        down = math.hypot(self.now.rate - low, high_then - self.then.rate)
        up = math.hypot(high - self.now.rate, self.then.rate - low_then)
        return self.difference - down, self.difference + up

    @property
    def is_clear(self) -> bool:
        """Whether the interval leaves no doubt of the sign."""
        low, high = self.interval
        return bool(self.then.of and self.now.of) and (low > 0 or high < 0)


@dataclass
class Tally:
    """An exercise in a class: who has begun it, who has it right, points by checks, and the named mistakes."""

    begun: int = 0
    right: int = 0
    shares: list[float] = field(default_factory=list)  # of the points, of those who have begun
    mistakes: Counter[str] = field(default_factory=Counter)
    says: dict[str, str] = field(default_factory=dict)

    def add(self, outcome: Outcome) -> None:
        """Count a student. Points are those of checks, as both years have them, whatever a year was scored by."""
        outcome = outcome.before_waivers()
        if outcome.not_started:
            return
        self.begun += 1
        self.right += outcome.status == "graded" and outcome.by_checks == outcome.max_score
        share = outcome.by_checks / outcome.max_score if outcome.max_score > 0 else 0.0
        self.shares.append(min(1.0, max(0.0, share)))  # of a store that somebody has edited, say
        for one in {one.id: one for one in named_in(outcome)}.values():
            self.mistakes[one.id] += 1
            self.says.setdefault(one.id, one.message)

    @property
    def mean(self) -> float | None:
        return statistics.fmean(self.shares) if self.shares else None


@dataclass(frozen=True)
class Mistake:
    """A mistake in the two years."""

    id: str
    says: str
    change: Change


@dataclass(frozen=True)
class Compared:
    """An exercise in the two years. `is_new` and `is_gone`: only one of the years has it."""

    name: str
    begun: Change
    right: Change
    then: float | None
    now: float | None
    mistakes: list[Mistake]
    is_new: bool
    is_gone: bool


def tallied(verdicts: Iterable[tuple[str, Verdict]]) -> tuple[int, dict[str, Tally]]:
    """(how many students, the Tally of each exercise) of a class."""
    many, found = 0, dict[str, Tally]()
    for _, verdict in verdicts:
        many += 1
        for name, outcome in {one.exercise: one for one in verdict.exercises}.items():  # each once a student
            found.setdefault(name, Tally()).add(outcome)
    return many, found


def compared(then: tuple[int, Mapping[str, Tally]], now: tuple[int, Mapping[str, Tally]]) -> list[Compared]:
    """The exercises of both years, this year's first."""
    (many_then, before), (many_now, after) = then, now
    found = []
    for name in dict.fromkeys([*after, *before]):
        last, this = before.get(name, Tally()), after.get(name, Tally())
        mistakes = [
            Mistake(id, (last.says | this.says)[id], _change(last.mistakes[id], last, this.mistakes[id], this))
            for id in {*last.mistakes, *this.mistakes}
        ]
        mistakes.sort(key=lambda one: (not one.change.is_clear, -abs(one.change.difference), one.id))
        begun = Change(Share(last.begun, many_then), Share(this.begun, many_now))
        right, is_new, is_gone = _change(last.right, last, this.right, this), name not in before, name not in after
        found.append(Compared(name, begun, right, last.mean, this.mean, mistakes, is_new, is_gone))
    return found


def _change(then: int, last: Tally, now: int, this: Tally) -> Change:
    return Change(Share(then, last.begun), Share(now, this.begun))


def write(root: Path, last: Path, assignment: course.Assignment) -> Path:
    """Write reports/<assignment>-years.html, with the class of the course in `last`. Raises UsageError.

    Names that instructors gave to wrong answers are left out: examples are graded on one year's inputs, by its checks,
    so that the other year has nobody with such a name, whoever made the mistake.
    """
    if not course.is_course(last):
        raise UsageError(f"{last} is no course: give the folder of last year's, which has nbgrader_config.py in it.")
    if last.resolve() == root.resolve():
        raise UsageError(f"{last} is this course itself: give the folder of last year's.")
    years = []
    for place in (last, root):
        results = Store(place)
        excused = results.excused(assignment.name)
        verdicts = results.each(assignment.name, named=False)
        many, found = tallied((student, verdict) for student, verdict in verdicts if student not in excused)
        if not many:
            raise NothingGraded(_why_nothing(place, assignment.name))
        years.append((many, found))
    path = root / "reports" / f"{assignment.name}-years.html"
    store.write(path, render(assignment.name, last.resolve().name, root.resolve().name, years[0], years[1]))
    path.chmod(0o644)
    return path


def _why_nothing(place: Path, name: str) -> str:
    """Why there is no result of an assignment to compare."""
    results = Store(place)
    students = results.students(name)
    if students and not {*students} - results.excused(name).keys():
        return f"Everybody with a result of {name} in {place} is excused: there is nothing to compare."
    if many := len(students):
        of = "the one result" if many == 1 else f"the {many} results"
        return f"{of.capitalize()} of {name} in {place} cannot be read here: grade there with this version of the kit."
    return f"Nothing of {name} is graded in {place}: there is nothing to compare."


def render(
    title: str, last: str, this: str, then: tuple[int, Mapping[str, Tally]], now: tuple[int, Mapping[str, Tally]]
) -> str:
    """The page as HTML text; `last` and `this` are what the two years are called."""
    template = environment().get_template("years.html.j2")
    students = then[0], now[0]
    exercises = compared(then, now)
    clear = [(e.name, one) for e in exercises if not e.is_new and not e.is_gone for one in e.mistakes]
    return template.render(
        title=title,
        last=last,
        this=this,
        students=students,
        few=FEW,
        exercises=exercises,
        clear=[pair for pair in clear if pair[1].change.is_clear],
        tried=len(clear),
    )
