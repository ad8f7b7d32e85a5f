"""Hashes of a student's answers, to see later whether an answer is still the one that was graded."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

from ..course import Assignment, defined_in
from .restore import RestoredCell

CODE = ""  # the key of all the student's code together: any of it may matter to an exercise


def answers_of(cells: Iterable[RestoredCell]) -> dict[str, str]:
    """{grade id: hash of the text} of the cells that students write into, and the hash of all their code as CODE."""
    found, code = {}, hashlib.sha256()
    for cell in cells:
        if cell.added or (cell.known is not None and cell.known.locked):
            continue
        text = cell.source.encode("utf-8", "surrogatepass")
        if cell.known is not None:
            found[cell.known.grade_id] = hashlib.sha256(text).hexdigest()
        if cell.cell_type == "code":
            code.update(b"%d\0" % len(text) + text)
    return {**found, CODE: code.hexdigest()}


def unchanged(before: object, after: Mapping[str, str], cell: str, is_exercise: bool) -> bool:
    """Whether an answer is unchanged; `before` is the result of `answers_of` then, or anything else if unknown."""
    key = CODE if is_exercise else cell
    return isinstance(before, dict) and CODE in before and before.get(key) == after.get(key)


def is_same(assignment: Assignment, exercise: str, before: object, after: Mapping[str, str]) -> bool:
    """Whether the cell that answers an exercise is unchanged; where there is none, whether all code is."""
    solves = (c.grade_id for c in assignment.cells if c.solution and exercise in defined_in(c.source))
    cell = next((name for name in solves if name in after), CODE)
    return isinstance(before, dict) and before.get(cell) == after.get(cell) is not None
