"""The code that students handed in, by attempt and exercise, as the instructor's pages show it."""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cachetools import LRUCache

from ..errors import Unreadable
from ..groups import grouping
from ..submission.read import lines_of_code, read_notebook
from ..submission.restore import restore
from ..verdict import printable

if TYPE_CHECKING:
    from ..course import Assignment
    from .record import Record

KEPT = 32 * 2**20  # characters of code that are kept in memory
LONGEST = 20_000  # characters of one answer that are kept
LINES, WIDTH = 400, 300  # of the code that is shown
FIRST = 40  # lines of a code in which none is named
QUOTED = 160  # characters of a line that a mistake quotes at most: mistakes/student_line.py
PLACE = re.compile(r"\bcode cell (\d{1,4}), line (\d{1,5})\b")  # as messages name one


@dataclass(frozen=True)
class Code:
    """The cell that answers an exercise: its text, its number among the code cells, and a hash.

    The `likeness` is the same for texts that differ in comments and spaces alone; `is_cut`: there is more of it.
    """

    text: str
    number: int
    likeness: str
    is_cut: bool = False

    @property
    def lines(self) -> list[str]:
        """The lines that are shown."""
        return [line if len(line) <= WIDTH else line[:WIDTH] + " …" for line in lines_of_code(self.text)[:LINES]]


NONE = Code("", 0, "")


@dataclass(frozen=True)
class Line:
    """A line of code as it is shown; it `is_named` where a mistake points to it."""

    number: int
    text: str
    is_named: bool


class Codes:
    """The code of attempts, by exercise. What was read is kept, as far as there is room; any thread may ask."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: LRUCache[tuple[str, str], dict[str, Code]] = LRUCache(
            KEPT, getsizeof=lambda found: 200 + sum(len(code.text) for code in found.values())
        )

    def of(self, record: Record, assignment: Assignment, sha256: str) -> Mapping[str, Code]:
        """The code of what was handed in, by exercise; without those exercises of which there is none."""
        key = assignment.name, sha256
        with self._lock:
            found = self._kept.get(key)
        if found is None:
            found = _read(record, assignment, sha256)
            with self._lock:
                self._kept[key] = found
        return found


CODES = Codes()  # of all desks of this process: a hash names one content


def excerpt(record: Record, assignment: Assignment, sha256: str, exercise: str) -> str:
    """The code of an exercise as a group's is shown, not too long nor too wide; "" if there is none."""
    return grouping.shown(CODES.of(record, assignment, sha256).get(exercise, NONE).text)


def _read(record: Record, assignment: Assignment, sha256: str) -> dict[str, Code]:
    try:
        cells = restore(read_notebook(record.content(sha256)), assignment.cells, assignment)
    except (Unreadable, KeyError):
        return {}
    found = {}
    for exercise in assignment.exercises:
        cell = grouping.cell_of(cells, exercise.name)
        if cell is not None:
            text = cell.source[:LONGEST]
            likeness = hashlib.sha256(grouping.bare(text).encode("utf-8", "surrogatepass")).hexdigest()[:16]
            is_cut = len(cell.source) > LONGEST or len(lines_of_code(text)) > LINES
            found[exercise.name] = Code(text, cell.number, likeness, is_cut)
    return found


def marked(code: Code, named: Collection[str], said: Collection[str] = ()) -> list[Line]:
    """The lines of a code. Those are marked that are `named`, or whose place is in what is `said` of it."""
    wanted = {line.strip() for line in named} - {""}
    places = {int(line) for text in said for cell, line in PLACE.findall(text) if int(cell) == code.number > 0}
    return [
        Line(number, shown, number in places or _is_one_of(printable(full).strip(), wanted))
        for number, (full, shown) in enumerate(zip(lines_of_code(code.text), code.lines, strict=False), 1)
    ]


def _is_one_of(line: str, wanted: Collection[str]) -> bool:
    """Whether a line is wanted; what is quoted of a long one is its beginning."""
    return bool(line) and any(line == one or (len(one) >= QUOTED and line.startswith(one)) for one in wanted)


def around(lines: list[Line], near: int) -> list[Line]:
    """The lines near those that are marked; without such lines, the first ones."""
    places = [line.number for line in lines if line.is_named]
    if not places:
        return lines[:FIRST]
    return [line for line in lines if any(abs(line.number - place) <= near for place in places)]
