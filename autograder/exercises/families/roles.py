"""Mistakes by role, made from the right answer itself: queries, keys or values stand in each other's place.

The names of a class's layers, or of a function's arguments, say which role each has.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator, Mapping

from ...errors import CourseError
from ...mistakes.bank import Bank, Shared, shared
from ...mistakes.prices import PRICES
from .wordings import says

ROLES = {
    "queries": re.compile(r"(W_|to)?(q|query|queries)"),
    "keys": re.compile(r"(W_|to)?(k|key|keys)"),
    "values": re.compile(r"(W_|to)?(v|value|values)"),
}


def of(bank: Bank) -> dict[str, Shared]:
    """Two roles that have changed places, and of a class one that another's layer makes: for `Bank.share`, at the end.

    Left out is what the bank has under this name, and what mostly gives the same: queries and keys exchanged where it
    has the scores transposed, values made as keys where it has keys as values. Raises CourseError if the right answer
    does not name all three roles.
    """
    (answer,) = (
        node
        for node in ast.parse(bank.right).body
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == bank.exercise
    )
    if isinstance(answer, ast.ClassDef):
        names = _by_role({use.attr for use in _layers_used(answer)})
    else:
        names = _by_role({argument.arg for argument in answer.args.args})
    if len(names) < len(ROLES):
        raise CourseError(f"{bank.exercise}: its names show only these roles: {', '.join(names) or 'none'}")
    made: dict[str, Shared] = {}

    def add(id: str, instead: Mapping[str, str], **words: str) -> None:
        if isinstance(answer, ast.ClassDef):
            edits = _layers_replaced(bank.right, answer, instead)
        else:
            edits = _arguments_replaced(bank.right, answer, instead)
        made[id] = shared(says(id, **words), edits, price=PRICES["values"])

    for role, other in itertools.combinations(ROLES, 2):
        one, two = names[role], names[other]
        if (role, other) != ("queries", "keys") or "query-and-key-swapped" not in bank:
            add(f"{role}-and-{other}-exchanged", {one: two, two: one}, ONE=one, OTHER=two)
    for role, other in itertools.permutations(ROLES, 2) if isinstance(answer, ast.ClassDef) else ():
        if not {f"{role}-from-{other}", f"{other}-as-{role}"} & bank.keys():
            add(f"{role}-from-{other}", {names[role]: names[other]}, ROLE=role, OTHER=names[other])
    return made


def _by_role(names: set[str]) -> dict[str, str]:
    """The name that has each role. Where several might, as `k` and `tokeys`, it is the longest."""
    fitting = {role: [name for name in names if pattern.fullmatch(name)] for role, pattern in ROLES.items()}
    return {role: max(found, key=len) for role, found in fitting.items() if found}


def _layers_used(answer: ast.ClassDef) -> Iterator[ast.Attribute]:
    """The places where an attribute of `self` is used after `__init__`."""
    for method in answer.body:
        if isinstance(method, ast.FunctionDef) and method.name != "__init__":
            for node in ast.walk(method):
                if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
                    yield node


def _layers_replaced(text: str, answer: ast.ClassDef, instead: Mapping[str, str]) -> dict[str, str]:
    """Edits of the lines that use some layers, so that they use others instead of them."""
    lines = text.splitlines(keepends=True)
    changed = list(lines)
    used = ((*_end_of(use), use.attr) for use in _layers_used(answer) if use.attr in instead)
    for number, end, name in sorted(used, reverse=True):  # so that the places before it stay
        line = changed[number].encode()
        changed[number] = (line[: end - len(name)] + instead[name].encode() + line[end:]).decode()
    edits: dict[str, str] = {}
    for number, (old, new) in enumerate(zip(lines, changed, strict=True)):
        if old != new:
            first = _first_of_unique(lines, number)
            edits["".join(lines[first : number + 1])] = "".join(changed[first : number + 1])
    return edits


def _end_of(node: ast.expr) -> tuple[int, int]:
    """The line and the byte in it at which an expression ends, both from 0."""
    assert node.end_lineno and node.end_col_offset
    return node.end_lineno - 1, node.end_col_offset


def _arguments_replaced(text: str, answer: ast.FunctionDef, instead: Mapping[str, str]) -> dict[str, str]:
    """An edit by which a function takes some arguments for others before all else."""
    is_documented = ast.get_docstring(answer) is not None
    body = answer.body[is_documented:]
    lines = text.splitlines(keepends=True)
    number = body[0].lineno - 1
    first = _first_of_unique(lines, number)
    line = f"{' ' * body[0].col_offset}{', '.join(instead)} = {', '.join(instead.values())}\n"
    return {"".join(lines[first : number + 1]): "".join([*lines[first:number], line, lines[number]])}


def _first_of_unique(lines: list[str], number: int) -> int:
    """The first of the fewest lines that end with this one and stand together nowhere else."""
    first = number
    while "".join(lines).count("".join(lines[first : number + 1])) > 1:
        first -= 1
    return first
