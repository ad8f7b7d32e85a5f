"""Late days: each person may hand in so many days late in a course, before a late penalty applies.

    c.Exercises.late_days = 4
    c.Exercises.late_days_each = 2

No day that is spent is kept anywhere: all follow from hand-ins and due dates, in the order in which people handed in,
so that no later hand-in takes a day from an earlier one. As credit.py does, this reads the text of the configuration.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from ..errors import CourseError
from ..submission.read import StrPath
from . import credit

BUDGET, EACH = "late_days", "late_days_each"  # the names of the options
OPTION = "c.Exercises.{}"
PLUGIN = "c.AssignLatePenalties.plugin_class"  # the course takes points in its own way
MOST = 366
DAY = timedelta(days=1)


@dataclass(frozen=True)
class LateDays:
    """The days of each person in the course, and how many of them may be spent on `each` assignment.

    `partly`: they are also spent on a hand-in that is later than they reach, which is late by what is left then. A
    course without a plug-in of its own takes all points or none for that, so the days would be lost.
    """

    budget: int = 0
    each: int = 2
    partly: bool = False

    def reach(self, spent: Mapping[str, int], assignment: str) -> int:
        """How many days late an assignment may be handed in, when so many are `spent`, by assignment."""
        left = self.budget - sum(days for other, days in spent.items() if other != assignment)
        return max(0, min(self.each, left))


@dataclass(frozen=True)
class HandIn:
    """A whole notebook, handed in at a time. It counts in place of an earlier one if it is `worth` as much, and not too
    late for late days; `is_forced`: in any case, and the gradebook knows nothing of those before it.
    """

    assignment: str
    at: datetime
    worth: float = 0.0
    is_forced: bool = False


def days_late(at: datetime, due: datetime | None) -> int:
    """How many days late a hand-in is, begun ones as whole ones, to the second."""
    return 0 if due is None else max(0, -((due - at.replace(microsecond=0)) // DAY))


def spent(
    hand_ins: Iterable[HandIn], due: Callable[[str], datetime | None], rules: LateDays, forget: Iterable[str] = ()
) -> dict[str, int]:
    """The late days that one person has spent, by assignment; `due` is without them.

    Of two hand-ins that are worth the same, the later one counts, unless it would spend more days. Assignments to
    `forget` do not count.
    """
    days: dict[str, int] = {}
    kept: dict[str, tuple[float, int]] = {}
    left_out = set(forget)
    ordered = sorted(hand_ins, key=lambda one: one.at) if rules.budget else []
    forced = {one.assignment: number for number, one in enumerate(ordered) if one.is_forced}
    for one in (one for number, one in enumerate(ordered) if number >= forced.get(one.assignment, 0)):
        late, name = days_late(one.at, due(one.assignment)), one.assignment
        reach, place = rules.reach(days, name), (one.worth, -late)
        if name in left_out or not one.is_forced and (late > reach or place < kept.get(name, place)):
            continue
        kept[name] = place
        days[name] = late if late <= reach else reach if rules.partly else 0
    return {name: many for name, many in days.items() if many}


# --- the options ----------------------------------------------------------------------------------


def configured(given: Mapping[str, Any]) -> LateDays:
    """The LateDays that the values of `c.Exercises` say. Raises CourseError."""
    for fault in faults(given):
        raise CourseError(fault)
    usual = LateDays()
    return LateDays(given.get(BUDGET, usual.budget), given.get(EACH, usual.each))


def faults(given: Mapping[str, Any]) -> Iterator[str]:
    """A sentence for each of these values of `c.Exercises` that is none."""
    for name, least in ((BUDGET, 0), (EACH, 1)):
        value = given.get(name, least)
        if type(value) is not int or not least <= value <= MOST:
            where = f"{OPTION.format(name)} in {credit.FILE}"
            is_huge = isinstance(value, int) and value.bit_length() > 64  # Python writes out no number of any length
            said = "huge" if is_huge else f"{value!r:.80}"
            yield f"{where} is {said}, and should be a number of days, from {least} to {MOST}."


def of_course(root: StrPath) -> LateDays:
    """The LateDays of a course, by the text of its configuration. Raises CourseError."""
    path = Path(root) / credit.FILE
    try:
        about = path.stat()
    except OSError:
        return LateDays()
    return _read(str(root), about.st_mtime_ns, about.st_size)


@functools.lru_cache(maxsize=8)
def _read(root: str, changed: int, size: int) -> LateDays:
    """The same, kept as long as the file is as it was: a page of a class asks for it many times."""
    given = {name: value for name in (BUDGET, EACH) for value in _values(root, OPTION.format(name))}
    rules = configured(given)
    return LateDays(rules.budget, rules.each, partly=bool(credit.values_of(root, PLUGIN)))


def _values(root: str, option: str) -> list[Any]:
    """What an option is set to: a number, or nothing. Raises CourseError where that cannot be read."""
    found = credit.values_of(root, option)
    if not found:
        return []
    if len(found) > 1 or not isinstance(found[0], ast.Constant):
        raise CourseError(f"{credit.FILE} should set {option} once, to a number.")
    return [found[0].value]
