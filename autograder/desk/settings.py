"""What an instructor sets: `c.Desk.*` in nbgrader_config.py, for the course or for one assignment.

| option | |
|---|---|
| `tell` | what is told before the due date, one of LEVELS |
| `at_once`, `every` | this many answers at once, then one every so many minutes |
| `limit` | answers for an exercise in all, or None |
| `counts` | which attempt counts, one of COUNTING |
| `who` | "roster" or "everybody": whom of those that a door lets in |
| `assignments` | a dict: other values of these for an assignment, by its name or number |

`address`, `hub` and `lti` say who comes in, and where: doors/opening.py; the address is in releases, too.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from .. import course
from ..errors import CourseError

# what may be told: that it was received; points; which kind of check; the mistake; all that the checks found
RECEIVED, POINTS, PLACE, NAMES, ALL = LEVELS = ("received", "points", "place", "names", "all")
# which attempt counts: the last one in time, the best one in time, or the last whatever its time
LAST, BEST, LATEST = COUNTING = ("last", "best", "latest")
ROSTER, EVERYBODY = WHO = ("roster", "everybody")
CHOICES = {"tell": LEVELS, "counts": COUNTING, "who": WHO}


@dataclass(frozen=True)
class Settings:
    """The settings of an assignment; `every` is in minutes."""

    tell: str = NAMES
    at_once: int = 20
    every: float = 3.0
    limit: int | None = None
    counts: str = LAST
    who: str = ROSTER

    @property
    def takes_late(self) -> bool:
        """Whether an attempt after the due date may count."""
        return self.counts == LATEST


OF_DOORS = ("address", "hub", "lti")  # options of the course, checked by doors/opening.py
OF_THE_COURSE = (*OF_DOORS, "assignments")
OPTIONS = tuple(field.name for field in fields(Settings))


def may_tell(level: str, wanted: str) -> bool:
    """Whether what is `wanted`, one of LEVELS, may be told at a level."""
    return LEVELS.index(level) >= LEVELS.index(wanted)


def settings_of(config: Mapping[str, Any], assignment: str) -> Settings:
    """The settings of an assignment, by its name. Raises CourseError if the configuration sets something wrong."""
    given = dict(config.get("Desk", {}))
    for fault in faults(given):
        raise CourseError(fault)
    own = {
        name: value
        for key, values in given.get("assignments", {}).items()
        if course.find_assignment(key).name == assignment
        for name, value in values.items()
    }
    general = {name: value for name, value in given.items() if name not in OF_THE_COURSE}
    return replace(Settings(), **{**general, **own})


def faults(given: Mapping[str, Any]) -> Iterator[str]:
    """A sentence for each option of `c.Desk` that cannot have its value. Raises CourseError."""
    for name, value in given.items():
        if name not in OF_THE_COURSE:
            yield from _faults_of(f"c.Desk.{name}", name, value)
    others = given.get("assignments", {})
    if not isinstance(others, Mapping) or not all(isinstance(values, Mapping) for values in others.values()):
        yield 'c.Desk.assignments in nbgrader_config.py should be like {"02": {"tell": "points"}}.'
        return
    for key, values in others.items():
        course.find_assignment(str(key))
        for name, value in values.items():
            yield from _faults_of(f"c.Desk.assignments[{key!r}][{name!r}]", name, value)


def _faults_of(where: str, name: str, value: Any) -> Iterator[str]:
    where = f"{where} in nbgrader_config.py"
    if name not in OPTIONS:
        near = difflib.get_close_matches(str(name), OPTIONS, n=1, cutoff=0)[0]
        yield f"{where} sets nothing: did you mean {near}?"
    elif name in CHOICES:
        if value not in CHOICES[name]:
            known = " or ".join(f'"{one}"' for one in CHOICES[name])
            yield f"{where} is {value!r}, and should be {known}."
    elif name == "every":
        if not _is_number(value) or not 0 <= float(value) <= 1e6:
            yield f"{where} is {value!r}, and should be a number of minutes."
    elif not (name == "limit" and value is None) and not (type(value) is int and 1 <= value <= 10**6):
        yield f"{where} is {value!r}, and should be a whole number from 1 up{', or None' if name == 'limit' else ''}."


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
