"""The headings of a lesson and its exercises, from the source notebook."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from .. import course
from ..grading.store import Store
from ..submission.written import unanswered

if TYPE_CHECKING:
    from ..submission.restore import RestoredCell
    from ..verdict import Graded

_FIRST_WORDS = re.compile(r"(.{1,40}?): ")
_HEADING = re.compile(r"^(#{1,6}) +(.+?) *$", re.MULTILINE)


@dataclass(frozen=True)
class Lesson:
    """A lesson's title, and the heading above each of its cells, as Markdown, by the cell's grade id."""

    title: str
    headings: dict[str, str] = field(default_factory=dict)

    def heading(self, grade_id: str) -> str:
        """The heading of an exercise or a question, as Markdown; "" if there is none."""
        return self.headings.get(grade_id, "")


def of(assignment: course.Assignment) -> Lesson:
    """The Lesson of an assignment. An unreadable one has its name for a title."""
    try:
        return _read(assignment.path, assignment.path.stat().st_mtime_ns)
    except (OSError, ValueError, KeyError, TypeError):
        return Lesson(assignment.name)


@functools.lru_cache(maxsize=8)
def _read(path: Path, changed: int) -> Lesson:
    title, above, headings = "", "", {}
    for cell in course.cells_in(path):
        text = course.source_of(cell)
        if cell["cell_type"] == "markdown" and not cell["metadata"].get("nbgrader"):
            for level, words in _HEADING.findall(text):
                title = title or words
                above = words if len(level) <= 2 and words != title else above
        elif about := cell["metadata"].get("nbgrader"):
            headings[about["grade_id"]] = above
    return Lesson(title or path.stem, headings)


def label_of(heading: str) -> str:
    """The first words of a heading, such as "Exercise 3" of "Exercise 3: masks"; "" if it has no such words."""
    found = _FIRST_WORDS.match(heading)
    return found[1] if found else ""


def empty_sentence(heading: str) -> str:
    """What a student reads of a question with this heading that was left blank."""
    return f"{label_of(heading) or f'“{heading}”'}: your answer cell is empty."


class Blank(TypedDict):
    """A written answer that is blank: its grade id, and what the student reads of it."""

    id: str
    message: str


def blank_in(graded: Graded) -> list[Blank]:
    """The written answers that are blank in what was graded."""
    return blank_answers(graded.verdict.assignment, graded.cells)


def blank_answers(name: str, cells: Sequence[RestoredCell]) -> list[Blank]:
    """The written answers that a notebook's cells leave blank; `name` is its assignment's, or "" if it has none."""
    assignment = course.assignments().get(name)
    if assignment is None or not assignment.points_by_hand:
        return []
    earlier = Store(course.root()).released(name)
    blank, headings = unanswered(cells, assignment, earlier), of(assignment)
    names = [cell.grade_id for cell in assignment.cells if cell.grade_id in blank]
    return [{"id": name, "message": empty_sentence(headings.heading(name) or name)} for name in names]


def headings_in(text: str) -> list[str]:
    """The headings of a Markdown text, without their marks."""
    return [words for _, words in _HEADING.findall(text)]
