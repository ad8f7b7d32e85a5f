"""What a student's code must show, so that a mistake may be meant: several may give the same values.

A sign gets all nodes of the student's definition and of what it names in the cells, and says whether it is there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

INFINITIES = {"inf", "Infinity", "infty", "NINF", "PINF"}  # attributes of torch, math and NumPy
FILLED = {"full", "full_like", "new_full", "tensor", "fill_", "new_tensor"}  # calls that give what they are given


def multiplies_infinity(nodes: Sequence[ast.AST]) -> bool:
    """Whether something is multiplied by an infinity, by whatever name, or by a tensor full of it."""
    names = _names_of_infinity(nodes)
    return any(_is_infinite(factor, names) for node in nodes for factor in _factors(node))


def divides_power(nodes: Sequence[ast.AST]) -> bool:
    """Whether a power, or 1 by it, is multiplied or divided afterwards: `base ** i / d`, `base ** 2 * i / d`."""
    return any(
        isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Div)) and _is_power(node.left)
        for node in nodes
    )


def _is_power(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp):
        return _is_power(node.operand)
    if isinstance(node, ast.Call):
        return _last_name(node.func) in ("pow", "pow_", "power")
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return _is_power(node.right)
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow)


def _names_of_infinity(nodes: Sequence[ast.AST]) -> set[str]:
    """The names and attributes to which an infinity is given."""
    found = set[str]()
    for node in nodes:
        if isinstance(node, ast.Assign) and _is_infinite(node.value, found):
            found |= {_last_name(target) for target in node.targets}
        elif isinstance(node, ast.AnnAssign) and node.value and _is_infinite(node.value, found):
            found.add(_last_name(node.target))
    return found - {""}


def _factors(node: ast.AST) -> Iterator[ast.expr]:
    """What is multiplied in a node."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        yield from (node.left, node.right)
    elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Mult):
        yield node.value
    elif isinstance(node, ast.Call) and _last_name(node.func) in ("mul", "mul_", "multiply", "multiply_"):
        yield from node.args


def _is_infinite(node: ast.expr, names: set[str]) -> bool:
    if isinstance(node, ast.UnaryOp):
        return _is_infinite(node.operand, names)
    if isinstance(node, ast.Constant):
        return isinstance(node.value, float) and abs(node.value) == float("inf")
    if not isinstance(node, ast.Call):
        return _last_name(node) in INFINITIES | names
    if _last_name(node.func) == "float":
        return any("inf" in str(getattr(one, "value", "")).lower() for one in node.args)
    given = [*node.args, *(word.value for word in node.keywords)]
    return _last_name(node.func) in FILLED and any(_is_infinite(one, names) for one in given)


def _last_name(node: ast.AST) -> str:
    """The name, or the last part of a chain of attributes; empty for anything else."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
