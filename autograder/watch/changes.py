"""Detects a save, and which exercises it may affect, judged by the text of the cells."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterable

from ..checks.source_text import names_defined_in, names_in, only_defines
from ..submission.read import StrPath
from ..submission.restore import RestoredCell

Signature = tuple[int, int, int] | None
GRACE = 1.0  # seconds for which a file that cannot be read counts as still being written


class WatchedFile:
    """A file that is looked at now and then. Most editors replace it by a new one, so it goes by its path."""

    def __init__(self, path: StrPath) -> None:
        self.path = path
        self.seen: Signature = None
        self.changed_at = 0.0

    def has_changed(self) -> bool:
        """Whether it is another file than when this was last asked."""
        now = self._signature()
        if now == self.seen:
            return False
        self.seen, self.changed_at = now, time.monotonic()
        return True

    def is_in_the_making(self) -> bool:
        """Whether it changed so lately that it may be half-written, or gone for the moment."""
        return time.monotonic() < self.changed_at + GRACE

    def is_empty(self) -> bool:
        return self.seen is not None and self.seen[1] == 0

    def _signature(self) -> Signature:
        try:
            status = os.stat(self.path, follow_symlinks=False)
        except OSError:
            return None
        return status.st_mtime_ns, status.st_size, status.st_ino


def program_of(cells: Iterable[RestoredCell]) -> list[str]:
    """The code that runs when a submission is graded, cell by cell, with a line for each exercise that is looked up."""
    return [f"# {cell.exercise}" if cell.exercise else cell.source for cell in cells if cell.exercise or cell.runs]


def concerned(exercises: Collection[str], before: list[str], after: list[str]) -> set[str]:
    """Those of the `exercises` that a change of the program may affect, as far as its text shows.

    These are the ones with changed cells, or that depend on changed cells. All of them are concerned if a cell changed
    that does more than to define something, or if cells changed places. The text does not show everything (a
    function may change torch itself when it is called), so the others still have to be graded again, only later.
    """
    changed = set(before) ^ set(after)
    if [cell for cell in before if cell not in changed] != [cell for cell in after if cell not in changed]:
        return set(exercises)
    if not all(map(only_defines, changed)):
        return set(exercises)
    every = set(before) | changed
    defines = {cell: names_defined_in(cell) for cell in every}
    return {exercise for exercise in exercises if _stands_on(exercise, defines) & changed}


def changed_in(exercises: Collection[str], before: list[str], after: list[str]) -> set[str]:
    """Those of the `exercises` of which a cell changed that defines them."""
    names = {name for cell in set(before) ^ set(after) for name in names_defined_in(cell)}
    return {exercise for exercise in exercises if exercise in names}


def _stands_on(exercise: str, defines: dict[str, set[str]]) -> set[str]:
    """The cells that define an exercise or what it uses, and what that uses, and so on."""
    found: set[str] = set()
    waiting = {exercise}
    while waiting:
        cells = {cell for cell, names in defines.items() if names & waiting} - found
        found |= cells
        waiting = {name for cell in cells for name in names_in(cell)}
    return found
