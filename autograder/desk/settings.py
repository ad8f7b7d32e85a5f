"""What an instructor sets: `c.Desk.*` in nbgrader_config.py, for the course or for one assignment.

| option | |
|---|---|
| `tell` | what is told, one of LEVELS |
| `at_once`, `every` | this many answers at once, then one every so many minutes |
| `limit` | answers for an exercise in all, or None |
| `counts` | which attempt counts, one of COUNTING |
| `who` | "roster" or "everybody": whom of those that a door lets in |
| `assignments` | a dict: other values of these for an assignment, by its name or number |
"""

from __future__ import annotations

from dataclasses import dataclass

# what may be told: that it was received; points; which kind of check; the mistake; all that the checks found
RECEIVED, POINTS, PLACE, NAMES, ALL = LEVELS = ("received", "points", "place", "names", "all")
# which attempt counts: the last one in time, the best one in time, or the last whatever its time
LAST, BEST, LATEST = COUNTING = ("last", "best", "latest")
ROSTER, EVERYBODY = WHO = ("roster", "everybody")


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


def may_tell(level: str, wanted: str) -> bool:
    """Whether what is `wanted`, one of LEVELS, may be told at a level."""
    return LEVELS.index(level) >= LEVELS.index(wanted)
