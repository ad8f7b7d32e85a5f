"""The course's own notebook, handed in in several ways, which the gate has graded before any student's."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection
from dataclasses import replace
from typing import Literal, TypeAlias

from .. import course
from ..course import Assignment
from ..submission import read
from ..submission.restore import RestoredCell, restore

# SOLUTION: as the course solves it. VISIBLE: the same, with the visible checks as cells that run. RELEASED: as students
# get it. RAISES, EMPTY: every definition is there, and raises NotImplementedError, or returns None.
Trial: TypeAlias = Literal["solution", "visible", "released", "raises", "empty"]
SOLUTION: Trial = "solution"
VISIBLE: Trial = "visible"
RELEASED: Trial = "released"
RAISES: Trial = "raises"
EMPTY: Trial = "empty"
TRIALS = (SOLUTION, VISIBLE, RELEASED, RAISES, EMPTY)

SHORT = {"float16": ("half",), "float32": ("float",), "float64": ("double",)}  # as methods of a tensor
BODIES = {RAISES: "raise NotImplementedError()", EMPTY: "return None"}


def cells_of(assignment: Assignment, trial: Trial) -> list[RestoredCell]:
    """The cells of the assignment's source notebook, as that trial hands them in."""
    submitted = read.read_notebook(read.read_bytes(assignment.path))
    return [_tried(cell, trial) for cell in restore(submitted, assignment.cells, assignment)]


def _tried(cell: RestoredCell, trial: Trial) -> RestoredCell:
    is_answer = cell.known is not None and cell.known.solution and cell.cell_type == "code"
    if trial in (SOLUTION, VISIBLE) or not is_answer:
        return cell
    source = course.released_of(cell.source) if trial == RELEASED else hollow(cell.source, BODIES[trial])
    return replace(cell, source=source)


def with_visible_check(cell: RestoredCell) -> RestoredCell:
    """The cell itself or, if it grades an exercise, one that runs its visible check."""
    return replace(cell, source=cell.source.split(course.HIDDEN)[0], known=None) if cell.exercise else cell


def lacking_for(source: str, lacks: Collection[str]) -> str:
    """The dtype that a visible check asks for by name, of those with which torch can't compute here; "" if none."""
    words = set(re.findall(r"\w+", source))
    return next((name for name in lacks if words & {name, *SHORT.get(name, ())}), "")


def hollow(source: str, body: str) -> str:
    """A cell in which every function has this body; a constructor first calls that of its base.

    One that is no plain Python becomes empty: nothing is defined then, which is a stub, too.
    """
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return ""
    for node in tree.body:
        for function in node.body if isinstance(node, ast.ClassDef) else [node]:
            if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
                begins = "super().__init__()\n" if function.name == "__init__" else ""
                function.body = ast.parse(begins + body).body
    return ast.unparse(tree)
