"""Finds the assignment that a notebook belongs to, for everything that asks: `check`, `watch`, `collect`, the desk."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from .. import course
from .prose import lines_of
from .read import StrPath, SubmittedCell
from .written import released_cells

LEAST = 2  # cells with the text of an assignment's, by which a copy without marks and title is known
LONG = 40  # characters of such a text; shorter ones are in any notebook


class Signs(NamedTuple):
    """What an assignment is known by: ids of its cells, nbgrader's among them, its title, and texts of its cells."""

    marks: frozenset[str]
    title: str
    texts: frozenset[tuple[str, ...]]


def assignment_of(
    cells: Sequence[SubmittedCell], path: StrPath = "", known: Mapping[str, course.Assignment] | None = None
) -> course.Assignment | None:
    """The assignment, of those `known` or of the course here, that a notebook belongs to, or None.

    Most of its cells' marks decide; without any, as in copies that other services save, its title, then the texts of
    its cells, then the name of the file.
    """
    known = course.assignments() if known is None else known
    signs = _own(tuple(known.values()))
    found = {mark for cell in cells for mark in (cell.id, cell.grade_id) if mark}
    shares = {name: len(found & own.marks) / len(own.marks) for name, own in signs.items() if own.marks}
    by_name = _named_after(path, known)
    best = max(shares, key=lambda name: (shares[name], name == by_name), default="")
    if not best or not shares[best]:
        best = _by_title(cells, signs) or _by_texts(cells, signs) or by_name
    return known[best] if best else None


def _named_after(path: StrPath, known: Iterable[str]) -> str:
    """The assignment that a file is named after, with whatever before and behind it; "" if it is none or several."""
    name = str(path).rpartition("/")[2]
    hits = [one for one in known if re.search(rf"(?<![^\W_]){re.escape(one)}(?![^\W_])", name)]
    return max(hits, key=len) if hits and all(other in max(hits, key=len) for other in hits) else ""


@functools.lru_cache(maxsize=64)
def signs_of(assignment: course.Assignment) -> Signs:
    """The signs of an assignment, those among them that others share."""
    cells = course.cells_in(assignment.path)
    marks = {cell["id"] for cell in cells if cell.get("id")} | {cell.grade_id for cell in assignment.cells}
    title = next(iter(_titles(course.source_of(cell) for cell in cells if cell["cell_type"] == "markdown")), "")
    texts = {lines for _, lines in released_cells(assignment) if sum(map(len, lines)) >= LONG}
    return Signs(frozenset(marks), title, frozenset(texts))


@functools.lru_cache(maxsize=8)
def _own(assignments: tuple[course.Assignment, ...]) -> Mapping[str, Signs]:
    """The signs of each assignment that no other has, by its name."""
    every = {one.name: signs_of(one) for one in assignments}
    marks = Counter(mark for signs in every.values() for mark in signs.marks)
    titles = Counter(signs.title for signs in every.values())
    texts = Counter(text for signs in every.values() for text in signs.texts)
    return {
        name: Signs(
            frozenset(mark for mark in signs.marks if marks[mark] == 1),
            signs.title if titles[signs.title] == 1 else "",
            frozenset(text for text in signs.texts if texts[text] == 1),
        )
        for name, signs in every.items()
    }


def _by_title(cells: Iterable[SubmittedCell], signs: Mapping[str, Signs]) -> str:
    """The assignment with the first heading that is a title."""
    names = {own.title: name for name, own in signs.items() if own.title}
    titles = _titles(cell.source for cell in cells if cell.cell_type == "markdown")
    return next((names[title] for title in titles if title in names), "")


def _by_texts(cells: Iterable[SubmittedCell], signs: Mapping[str, Signs]) -> str:
    """The assignment that has most of the texts; "" if that is less than LEAST."""
    there = {tuple(lines_of(cell.source)) for cell in cells}
    hits = {name: len(there & own.texts) for name, own in signs.items()}
    best = max(hits, key=lambda name: hits[name], default="")
    return best if best and hits[best] >= LEAST else ""


def _titles(texts: Iterable[str]) -> list[str]:
    """The headings of the first rank, in order."""
    found = (re.findall(r"^# *(\S.*)$", text, re.MULTILINE) for text in texts)
    return [" ".join(heading.split()) for headings in found for heading in headings]


def is_of_another(assignment: course.Assignment, cells: Sequence[SubmittedCell]) -> str:
    """The name of another assignment that a notebook belongs to, if it has no cell of this one's own; else ""."""
    claims = {cell.grade_id for cell in cells if cell.grade_id}
    known = {name: {cell.grade_id for cell in one.cells} for name, one in course.assignments().items()}
    own = known[assignment.name]
    others: Mapping[str, int] = {name: len(claims & (ids - own)) for name, ids in known.items()}
    most = max(others, key=lambda name: others[name])
    if others[most]:
        return "" if claims & (own - known[most]) else most
    found = None if claims & own else assignment_of(cells)
    return "" if found is None or found.name == assignment.name else found.name
