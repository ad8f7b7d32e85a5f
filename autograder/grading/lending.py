"""Lends answers what a lesson defines: cells that only show something do not run, but students may use their functions.

A lesson cell runs the definitions that some answer uses, and no more: as released, whatever a student has made of them.
"""

import ast
import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from .. import course
from ..checks.source_text import definitions_in, names_defined_in, names_in
from ..submission.restore import RestoredCell

WORD = re.compile(r"\w+")
Definition = ast.FunctionDef | ast.ClassDef


@dataclass(frozen=True)
class Shown:
    """A function or class of a lesson cell: its code, the imports beside it, and all names that occur in it."""

    code: str
    imports: str
    uses: frozenset[str]


def lend(cells: Sequence[RestoredCell], assignment: course.Assignment | None) -> list[RestoredCell]:
    """These cells, of which lessons run what the student's cells use, directly or not, and do not define."""
    shown = _shown(assignment.lesson_texts) if assignment else {}
    # most cells hold none of these names, and are not parsed
    own = [cell.source for cell in cells if cell.runs and not shown.keys().isdisjoint(WORD.findall(cell.source))]
    defined, wanted = set[str]().union(*map(names_defined_in, own)), set[str]()
    waiting = set[str]().union(*map(names_in, own))
    while waiting := (waiting & shown.keys()) - defined - wanted:
        wanted |= waiting
        waiting = {name for found in waiting for name in shown[found].uses}
    if not assignment or not wanted:
        return list(cells)
    defined_in = _defined_in(assignment.lesson_texts)
    return [_lent(cell, shown, defined_in, wanted) for cell in cells]


def _lent(
    cell: RestoredCell, shown: dict[str, Shown], defined_in: dict[str, list[str]], wanted: set[str]
) -> RestoredCell:
    if cell.cell_type != "code" or not cell.lesson:
        return cell
    names = defined_in[cell.source] if cell.source in defined_in else definitions_in(cell.source) or ()
    here = [shown[name] for name in names if name in wanted]
    parts = [*dict.fromkeys(found.imports for found in here if found.imports), *(found.code for found in here)]
    return replace(cell, lent="\n\n\n".join(parts))


@functools.lru_cache(maxsize=64)
def _defined_in(texts: frozenset[str]) -> dict[str, list[str]]:
    """The names that each lesson cell defines."""
    return {text: list(definitions_in(text) or ()) for text in texts}


@functools.lru_cache(maxsize=64)
def _shown(texts: frozenset[str]) -> dict[str, Shown]:
    """The functions and classes of lesson cells, by their names."""
    found = {}
    for text in sorted(texts):
        nodes = definitions_in(text) or {}
        lines = text.splitlines()
        imports = dict.fromkeys(
            _code(lines, node) for node in nodes.values() if isinstance(node, ast.Import | ast.ImportFrom)
        )
        for name, node in nodes.items():
            if isinstance(node, Definition):
                code = _code(lines, node)
                found[name] = Shown(code, "\n".join(imports), frozenset(names_in(code)))
    return found


def _code(lines: Sequence[str], node: ast.stmt) -> str:
    """The text of a statement, with its decorators."""
    first = min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", ()))])
    return "\n".join(lines[first - 1 : node.end_lineno])
