"""An exercise and a mistake over the whole class, as the instructor's pages show them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..report.class_report import BARS, bar_of
from . import charts
from .codes import CODES, NONE, Code, Line, around, marked

if TYPE_CHECKING:
    from markupsafe import Markup

    from ..course import Assignment, Exercise
    from .addresses import Addresses
    from .overview import Answer, Asked, Common, Has, Overview
    from .record import Record

CLOSE = 3  # lines around a named one
SHOWN = 24  # answers whose code is shown side by side
WHO = "who"  # the id of the list on an exercise's page


@dataclass(frozen=True)
class Given:
    """A student's latest answer to an exercise."""

    student: str
    name: str
    answer: Answer


@dataclass(frozen=True)
class Alike:
    """Answers that are written the same, up to comments and spaces."""

    likeness: str
    code: Code
    given: list[Given]

    @property
    def scores(self) -> list[float]:
        """The points that they have, the most frequent first."""
        return [score for score, _ in Counter(one.answer.score for one in self.given).most_common()]


@dataclass(frozen=True)
class CheckTally:
    """A check over the class: how many answers fail it, `of` those that it was tried with."""

    name: str
    asked: Asked
    failed: list[Given]
    of: int

    @property
    def rate(self) -> float:
        return len(self.failed) / self.of


def given(found: Overview, place: int) -> list[Given]:
    """The latest answers to the exercise at this place among those of the assignment."""
    answers = ((row, row.squares[place].answer) for row in found.rows)
    return [Given(row.student, row.name, answer) for row, answer in answers if answer is not None]


def histogram(exercise: Exercise, answers: Sequence[Given], at: Addresses) -> Markup:
    """How many have which share of the points; each bar leads to those who have it."""
    counts = Counter(bar_of(one.answer.score, exercise.points) for one in answers)
    found = [
        charts.Bar(
            counts[place],
            f"{label} of the points: {counts[place]} student{'' if counts[place] == 1 else 's'}",
            label,
            at.exercise(exercise.name, WHO, points=place),
        )
        for place, label in enumerate(BARS)
    ]
    return charts.bars(f"How many students have which share of the points of {exercise.name}", found)


def alike(record: Record, assignment: Assignment, exercise: str, answers: Sequence[Given]) -> list[Alike]:
    """The answers in groups that are written the same, the largest first."""
    groups: dict[str, Alike] = {}
    for one in answers:
        code = CODES.of(record, assignment, one.answer.attempt.sha256).get(exercise)
        if code is not None and one.answer.is_begun:
            groups.setdefault(code.likeness, Alike(code.likeness, code, [])).given.append(one)
    return sorted(groups.values(), key=lambda group: (-len(group.given), group.likeness))


def checks(exercise: str, answers: Sequence[Given], asked: Mapping[tuple[str, str], Asked]) -> list[CheckTally]:
    """The checks of an exercise, those that fail most often first."""
    failed: dict[str, list[Given]] = {}
    tried: Counter[str] = Counter()
    for one in answers:
        for name, passed in one.answer.checks:
            tried[name] += 1
            failed.setdefault(name, []).extend([] if passed else [one])
    made = [CheckTally(name, asked[exercise, name], failed[name], tried[name]) for name in tried]
    return sorted(made, key=lambda one: (-one.rate, one.name))


# --- a mistake ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SameLine:
    """Students whose line, or whose error, is the same."""

    line: str
    why: str
    who: list[Has]


@dataclass(frozen=True)
class Shown:
    """The code of somebody who has a mistake, near the line that is named."""

    has: Has
    attempt: str
    lines: list[Line]


def by_line(mistake: Common) -> list[SameLine]:
    """Who has a mistake, by their line, the most frequent one first."""
    found: dict[tuple[str, str], SameLine] = {}
    for has in mistake.who:
        found.setdefault((has.line, has.why), SameLine(has.line, has.why, [])).who.append(has)
    return sorted(found.values(), key=lambda one: (-len(one.who), not one.line, one.line))


def side_by_side(record: Record, assignment: Assignment, mistake: Common, answers: Mapping[str, Answer]) -> list[Shown]:
    """The code near the line of some who have a mistake: one for each line, as far as these go."""
    groups = by_line(mistake)
    rounds = [has for depth in range(SHOWN) for group in groups for has in group.who[depth : depth + 1]]
    found = []
    for has in rounds[:SHOWN]:
        if (answer := answers.get(has.student)) is None:
            continue
        code = CODES.of(record, assignment, answer.attempt.sha256).get(mistake.exercise, NONE)
        lines = around(marked(code, [has.line], [has.why]), CLOSE)
        found.append(Shown(has, answer.attempt.id, lines))
    return found
