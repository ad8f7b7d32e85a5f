"""A softmax that an answer to another exercise has of its own: the mistakes of softmax's bank, made there.

They are made where the right answer calls torch's softmax: a softmax of its own stands before the answer, and is called
instead. They are tried on answers alone whose text takes an exponential, since nobody else can have made them.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import NamedTuple

from ..errors import CourseError
from . import bank as banks
from .bank import Bank, BankError, Mistake

EXERCISE = "softmax"
PREFIX = "own-softmax-"  # how the ids of these mistakes begin; they are in no bank
MODULES = {"F", "torch", "nn.functional", "torch.nn.functional"}
# What is about how it is called, which only the student's text would show, or is no mistake where nobody forbids it.
LEFT_OUT = {"dim-not-taken", "default-is-first-dimension", "torchs-own-softmax", "nothing-returned"}


class Call(NamedTuple):
    """A call of torch's softmax: its `text`, the `module` of a function ("" for a method), the `scores`, the `rest`."""

    text: str
    module: str
    scores: str
    rest: str

    @property
    def by_hand(self) -> dict[str, str]:
        """The edit that calls a function `softmax` instead, as small as it can be."""
        if self.module:
            return {f"{self.module}.softmax({self.scores}": f"softmax({self.scores}"}
        return {self.text: f"softmax({self.scores}, {self.rest}"}

    def of(self, scores: str) -> str:
        """The same call of torch's, of other scores."""
        return f"{self.module}.softmax({scores}{self.rest}" if self.module else f"({scores}).softmax({self.rest}"


def mistakes_in(of: Bank) -> list[Mistake]:
    """The mistakes of a softmax of one's own in an exercise; none if its right answer does not call torch's once."""
    call = called(of.right)
    try:
        known = banks.bank(EXERCISE)
    except CourseError:  # an installed course has one, too, and nobody knows which is meant
        known = None
    if call is None or of.exercise == EXERCISE or not isinstance(known, Bank):
        return []
    first = of.right.splitlines()[_first_statement(of.right)]
    made = []
    for one in (*known.values(), *known.variants):
        if one.id in LEFT_OUT or one.as_given:
            continue
        edits = {**call.by_hand, first: f"{_definition(one.source)}\n\n\n{first}"}
        try:
            source = banks.edited(of.right, edits, one.id)
        except BankError:  # the answer's first line occurs twice
            return []
        says = f"In your softmax: {one.says[0].lower()}{one.says[1:]}"
        made.append(replace(one, id=PREFIX + one.id, exercise=of.exercise, says=says, source=source, edits=edits))
    return made


def called(source: str) -> Call | None:
    """The only call of torch's softmax in a text; None if there are none or several, or if its text occurs twice."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "softmax":
            found.append((node, node.func.value))
    if len(found) != 1:
        return None
    text, before = (ast.get_source_segment(source, node) or "" for node in found[0])
    start = f"{before}.softmax("
    if not text.startswith(start) or source.count(text) != 1:
        return None
    if before not in MODULES:
        return Call(text, "", before, text.removeprefix(start))
    scores = ast.get_source_segment(source, found[0][0].args[0]) if found[0][0].args else ""
    if not scores or not text.startswith(start + scores):
        return None
    return Call(text, before, scores, text.removeprefix(start + scores))


def _definition(source: str) -> str:
    """The function in the text of an answer to softmax."""
    return source[source.index("def ") :].strip()


def _first_statement(source: str) -> int:
    """The number of the line, from 0, at which the first function or class begins, with what decorates it."""
    nodes = [node for node in ast.parse(source).body if isinstance(node, (ast.FunctionDef, ast.ClassDef))]
    return min(min([node.lineno, *(one.lineno for one in node.decorator_list)]) for node in nodes) - 1
