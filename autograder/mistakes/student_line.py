"""Finds the line of a student's code to which a named mistake points, where it can be found with certainty.

Two ways are certain. If all failures that a mistake explains are errors raised at one line, it is that line. Else the
texts are compared: a statement or a call that the mistake has and the right answer lacks, and that occurs exactly once
in the student's code, whatever its variables are called.
"""

from __future__ import annotations

import ast
import builtins
import functools
import math
import textwrap
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, TypeAlias

from .. import course
from ..checks.source_text import tree_of
from ..submission.read import lines_of_code

if TYPE_CHECKING:
    from ..sandbox.replies import Place

Texts: TypeAlias = tuple[str, ...]
Forms: TypeAlias = Callable[[ast.Module], Iterator[tuple[str, ast.stmt | ast.expr]]]  # of a text, each with its node

MODULES = frozenset({"torch", "nn", "F", "math", "np", "numpy", "self", "super"})  # names that mean the same everywhere
KINDS = {  # calls that are other ways to write an operator, or each other
    **dict.fromkeys(("matmul", "bmm", "mm", "einsum", "dot", "inner"), "MatMult"),
    **dict.fromkeys(("view", "reshape", "flatten", "unflatten", "rearrange", "unbind", "chunk", "split"), "reshape"),
    **dict.fromkeys(("masked_fill", "masked_fill_", "where", "masked_scatter"), "masked_fill"),
}
TURNING = frozenset({"transpose", "permute", "swapaxes", "swapdims", "movedim", "adjoint", "t", "T", "mT", "H", "mH"})
OWN = "a call"  # of what the student named: the name says nothing
UNSEEN = frozenset({"ctx", "kind", "type_comment"})  # what does not show in a statement's text
LEAST = 6  # nodes of a statement that is compared: shorter ones may stand anywhere
LONGEST = 160  # characters of a line that is shown


def line_of(mistake: str, right: str, student: str, places: Collection[Place | None]) -> str:
    """The student's line, without its indentation; empty if none is certain.

    `mistake` and `right` are the texts of an answer with and without the mistake, `student` that of the student's
    definition. `places` are where the failures that the mistake explains were raised, None for those without an error.
    """
    if raised := raised_at(places):
        return raised
    tree = parsed(student)
    for forms in (_statements, _calls):
        typical = _forms_of(forms, mistake) - _forms_of(forms, right)
        found = [node for form, node in forms(tree) if form in typical] if typical else []
        if len(found) == 1:
            return lines_of_code(textwrap.dedent(student))[found[0].lineno - 1].strip()[:LONGEST]
    return ""


@functools.lru_cache(maxsize=512)
def _forms_of(forms: Forms, text: str) -> frozenset[str]:
    """The forms of a text of the kit's own."""
    return frozenset(form for form, _ in forms(parsed(text)))


def parsed(text: str) -> ast.Module:
    """A text, parsed; an empty one if it cannot be, or is too large."""
    return tree_of(textwrap.dedent(text))


def raised_at(places: Iterable[Place | None]) -> str:
    """The one line at which all these errors were raised; empty if they are several, or there was no error."""
    raised = {place.code.strip() if place else "" for place in places}
    return raised.pop()[:LONGEST] if len(raised) == 1 else ""


def akin(one: str, other: str, texts: tuple[Texts, Texts] = ((), ())) -> bool:
    """Whether two lines may fail for the same reason: False if they call or compute altogether different things.

    So do products of matrices if only one of them has weights that a softmax made, or its first factor transposed.
    `texts` are those in which the lines stand.
    """
    mine, theirs = operations(one), operations(other)
    if not mine or not theirs:
        return True
    if (mine & theirs) - {OWN} == {"MatMult"}:
        return bool(_products(one, texts[0]) & _products(other, texts[1]))
    return bool(mine & theirs)


def operations(line: str) -> set[str]:
    """What a line calls or computes, by kind; empty if it is no whole statement."""
    nodes = list(ast.walk(_statement(line)))
    called = [ast.unparse(node.func).rsplit(".", 1)[-1] for node in nodes if isinstance(node, ast.Call)]
    found = {KINDS.get(name, name if is_of_a_library(name) else OWN) for name in called}
    found |= {type(node.op).__name__ for node in nodes if isinstance(node, (ast.BinOp, ast.AugAssign))}
    return found


def is_of_a_library(name: str) -> bool:
    """Whether a called name means the same in everybody's code."""
    return _is_of_a_library(name, course.imports_torch())


@functools.cache
def _is_of_a_library(name: str, with_torch: bool) -> bool:
    import numpy  # here, since pages are written without it, or torch

    libraries: list[object] = [builtins, math, numpy]
    if with_torch:
        import torch

        libraries += [torch, torch.Tensor, torch.nn, torch.nn.Module, torch.nn.functional]
    return any(callable(getattr(library, name, None)) for library in libraries)


@functools.lru_cache(maxsize=512)
def _products(line: str, texts: Texts) -> frozenset[tuple[bool, bool]]:
    """For each product of matrices in a line: whether a softmax made one of its factors, and whether the first one is
    transposed there."""
    scope = _scope(line, texts)
    found = set()
    for node in ast.walk(_statement(line)):
        factors: list[ast.expr] = []
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            factors = [node.left, node.right]
        elif isinstance(node, ast.Call) and KINDS.get(_last_name(node.func)) == "MatMult":
            factors = [argument for argument in node.args if not isinstance(argument, ast.Constant)]
            if isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) not in MODULES:
                factors.insert(0, node.func.value)
        if factors:
            after = any(_is_after_softmax(factor, scope, set()) for factor in factors)
            found.add((after, _last_name(factors[0]) in TURNING))
    return frozenset(found)


def _scope(line: str, texts: Texts) -> dict[str, list[ast.AST]]:
    """What is known of the names in a line: the bodies of functions, and what its own function assigns before it."""
    known: dict[str, list[ast.AST]] = {}
    for text in texts:
        tree = tree_of(text)
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        known.update((function.name, list[ast.AST](function.body)) for function in functions)
        lines = lines_of_code(text)
        for function in functions:
            inside = range(function.lineno, (function.end_lineno or function.lineno) + 1)
            last = next((number for number in inside if lines[number - 1].strip() == line.strip()), 0)
            for node in ast.walk(function) if last else ():
                if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)) and node.lineno < last and node.value:
                    for target in ast.walk(node):
                        if isinstance(target, ast.Name) and isinstance(target.ctx, ast.Store):
                            known.setdefault(target.id, []).append(node.value)
    return known


def _is_after_softmax(node: ast.AST, scope: Mapping[str, list[ast.AST]], seen: set[str]) -> bool:
    """Whether a softmax, or an exponential, has a part in an expression, directly or by the names in it."""
    for part in ast.walk(node):
        name = _last_name(part) if isinstance(part, (ast.Name, ast.Attribute)) else ""
        if "softmax" in name.lower() or name == "exp":
            return True
        if name in scope and name not in seen:
            seen.add(name)
            if any(_is_after_softmax(origin, scope, seen) for origin in scope[name]):
                return True
    return False


def _last_name(node: ast.AST) -> str:
    """The last name of a function, of a call's function or of an attribute; empty for anything else."""
    node = node.func if isinstance(node, ast.Call) else node
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _statement(line: str) -> ast.Module:
    """A line as a program of its own; an empty one if it is no whole statement."""
    try:
        return ast.parse(line.strip().removesuffix(":"))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module(body=[], type_ignores=[])


def share_of(original: str, student: str) -> float:
    """The share of a text's statements that stand in the student's as well, whatever its variables are called."""
    forms, theirs = _forms_in_turn(original), frozenset(_forms_in_turn(student))
    return sum(form in theirs for form in forms) / len(forms) if forms else 0.0


@functools.lru_cache(maxsize=128)  # a student's text is compared with several originals
def _forms_in_turn(text: str) -> tuple[str, ...]:
    return tuple(form for form, _ in _statements(parsed(text)))


def _statements(tree: ast.Module) -> Iterator[tuple[str, ast.stmt]]:
    """The simple statements of a text that are long enough to mean something, each with its form."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return, ast.Expr)):
            if sum(1 for _ in ast.walk(node)) >= LEAST and not _is_text(node):
                yield _form(node), node


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _form(node: ast.stmt) -> str:
    """A statement's structure, with its variables numbered in the order in which they occur."""
    numbers: dict[str, str] = {}

    def form(part: object) -> str:
        if isinstance(part, ast.Name):
            return part.id if part.id in MODULES else numbers.setdefault(part.id, f"v{len(numbers)}")
        if isinstance(part, ast.AST):
            fields = (form(getattr(part, name, None)) for name in part._fields if name not in UNSEEN)
            return f"{type(part).__name__}({', '.join(fields)})"
        return f"[{', '.join(map(form, part))}]" if isinstance(part, list) else repr(part)

    return form(node)


def _calls(tree: ast.Module) -> Iterator[tuple[str, ast.Call]]:
    """The calls of a text that have constants among their arguments: the function's last name and the constants."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = _last_name(node)
            arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
            constants = Counter(ast.unparse(argument) for argument in arguments if _is_constant(argument))
            if name and constants:
                yield f"{name} {sorted(constants.items())}", node


def _is_constant(node: ast.expr) -> bool:
    node = node.operand if isinstance(node, ast.UnaryOp) else node
    return isinstance(node, ast.Constant)
