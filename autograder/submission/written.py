"""Tells a written answer from an untouched one, and finds answers that were written elsewhere in the notebook.

A written answer gets 0 points without a person only if its cell is as it was released (or empty) and nothing else in
the notebook can be the answer. What can be: text of the student's own in any cell of text, in a code cell beside the
question, in code that is no Python, or in a long comment or string, in the course's own cells, too (`restore.py`).
Everything else is for a person to look at.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from typing import TypeAlias

from .. import course
from .prose import computes, lines_of, says_something
from .restore import RestoredCell

ReleasedCell: TypeAlias = tuple[str, tuple[str, ...]]  # its grade id, or "" if it has none, and its lines

REGION = re.compile(r"^[ \t]*### BEGIN (SOLUTION|MARK SCHEME|HIDDEN TESTS)\n.*?^[ \t]*### END \1[ \t]*$", re.M | re.S)


def released_cells(assignment: course.Assignment) -> list[ReleasedCell]:
    """The cells of an assignment as students get them, in order."""
    return [(p.grade_id, tuple(lines_of(released_text(p.cell_type, p.source, p.solution)))) for p in assignment.outline]


def unanswered(
    cells: Sequence[RestoredCell], assignment: course.Assignment | None, earlier: Collection[ReleasedCell] = ()
) -> set[str]:
    """The grade ids of the answers for a person to grade that were not given: not in their cells, nor elsewhere.

    `earlier` holds cells of earlier releases, which some students may still have.
    """
    blank = [cell for cell in cells if _is_for_a_person(cell) and is_blank(cell, earlier)]
    found = set()
    for cell in blank:
        others = cell.added and any(_is_for_a_person(c) and not is_blank(c, earlier) for c in cells)
        merged = others and cell.known and _was_asked(cells, assignment, cell.known.grade_id)
        if cell.known and not merged and not elsewhere(cells, assignment, cell.known.grade_id, earlier):
            found.add(cell.known.grade_id)
    return found


def is_blank(cell: RestoredCell, earlier: Collection[ReleasedCell] = ()) -> bool:
    """Whether the cell of an answer is as it was released, but for blanks and its placeholder, or empty."""
    known = cell.known
    if known is None:
        return False
    written = lines_of(cell.source)
    return not written or written == _blank(known) or (known.grade_id, tuple(written)) in earlier


def elsewhere(
    cells: Sequence[RestoredCell],
    assignment: course.Assignment | None,
    grade_id: str,
    earlier: Collection[ReleasedCell] = (),
) -> list[RestoredCell]:
    """The cells, other than its own, in which a student may have answered the question `grade_id`."""
    released = released_cells(assignment) if assignment else []
    own = _own_lines(cells, released, earlier)
    there = {line for _, lines in (*released, *earlier) for line in lines}
    near = _beside(cells, released, grade_id)
    found = []
    for index, cell in enumerate(cells):
        if not own[index] or (cell.known is not None and (cell.known.locked or cell.known.grade)):
            continue
        if cell.cell_type != "code":
            is_one = True
        elif (cell.known is None and index in near) or not computes(cell.source):
            is_one = True
        else:
            is_one = says_something(cell.source, there)
        if is_one:
            found.append(cell)
    return found


def _blank(known: course.Cell) -> list[str]:
    """The lines of a cell as it was released."""
    return lines_of(known.blank or released_text(known.cell_type, known.source, known.solution))


def _is_for_a_person(cell: RestoredCell) -> bool:
    known = cell.known
    return known is not None and known.grade and known.solution and not known.exercise


def _was_asked(cells: Sequence[RestoredCell], assignment: course.Assignment | None, grade_id: str) -> bool:
    """Whether a question was there when it was handed in: it may have been added to the assignment since.

    One with no line of its own, by which it could be known, counts as asked.
    """
    released = released_cells(assignment) if assignment else []
    at = next((number for number, (name, _) in enumerate(released) if name == grade_id), 0)
    if not at:
        return True
    others = {line for number, (_, lines) in enumerate(released) if number != at - 1 for line in lines}
    asked = set(released[at - 1][1]) - others
    return not asked or any(line in asked for cell in cells for line in lines_of(cell.source))


def _own_lines(
    cells: Sequence[RestoredCell], released: Sequence[ReleasedCell], earlier: Collection[ReleasedCell]
) -> list[list[str]]:
    """The lines of each cell that no release has, or not so often.

    Whole cells are found first: of a released line and a copy of it in an answer, the copy is the student's own.
    """
    now = Counter(lines for _, lines in released)
    before = Counter({lines for _, lines in earlier} - set(now))
    there = {line for text in now for line in text}
    lines = [tuple(lines_of(cell.source)) for cell in cells]
    own: dict[int, list[str]] = {}
    for index, cell in enumerate(cells):
        if cell.known is not None:
            blank = set(_blank(cell.known))
            own[index] = [line for line in lines[index] if line not in blank]
        elif (of := now if now[lines[index]] > 0 else before)[lines[index]] > 0:
            of[lines[index]] -= 1
            own[index] = []
    left = Counter(line for text, many in now.items() for line in text * max(many, 0))
    for text, many in before.items():
        left |= Counter(line for line in text if many > 0 and line not in there)
    for index in range(len(cells)):
        if index not in own:
            own[index] = []
            for line in lines[index]:
                left[line] -= 1
                if left[line] < 0:
                    own[index].append(line)
    return [own[index] for index in range(len(cells))]


def _beside(cells: Sequence[RestoredCell], released: Sequence[ReleasedCell], grade_id: str) -> range:
    """The indices of the cells around a question: after what the release has before it, up to what it has after it."""
    by_id = {name: number for number, (name, _) in enumerate(released) if name}
    by_text = {lines: number for number, (_, lines) in enumerate(released) if lines}
    at = by_id.get(grade_id)
    if at is None:
        return range(0)
    places = [by_id.get(c.known.grade_id) if c.known else by_text.get(tuple(lines_of(c.source))) for c in cells]
    before = [(place, index) for index, place in enumerate(places) if place is not None and place < at]
    start = max(before)[1] + 1 if before else 0
    after = (i for i in range(start, len(cells)) if (place := places[i]) is not None and place > at)
    return range(start, next(after, len(cells)))


def released_text(cell_type: str, source: str, is_solution: bool) -> str:
    """What students get of a source cell, with nothing in place of each solution."""
    if cell_type == "code" and "### BEGIN ORIGINAL" in source:
        return course.original_of(source) or ""
    left = REGION.sub("", source)
    return "" if is_solution and "### BEGIN SOLUTION" not in source else left
