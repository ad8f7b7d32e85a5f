"""What a student's code must show, so that a mistake may be meant: several may give the same values.

A sign gets all nodes of the student's definition and of what it names in the cells, and says whether it is there.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .bank import Sign

INFINITIES = {"inf", "Infinity", "infty", "NINF", "PINF"}  # attributes of torch, math and NumPy
FILLED = {"full", "full_like", "new_full", "tensor", "fill_", "new_tensor"}  # calls that give what they are given
COMPARING = {"allclose", "isclose", "assert_close", "equal", "eq", "array_equal"}
COARSE = 0.1  # a tolerance by which wrong numbers fit
TENSORS = {"tril", "triu", "ones", "zeros", "full", "arange", "eye", "tensor", "where", "linspace", "logspace"}


def multiplies_infinity(nodes: Sequence[ast.AST]) -> bool:
    """Whether something is multiplied by an infinity, by whatever name, or by a tensor full of it."""
    names = _names_of_infinity(nodes)
    return any(_is_infinite(factor, names) for node in nodes for factor in _factors(node))


def has(*names: str) -> Sign:
    """The sign that one of these names or attributes is there."""
    return lambda nodes: any(_last_name(node) in names for node in nodes)


def lacks(*signs: Sign) -> Sign:
    """The sign that none of these is there."""
    return lambda nodes: not any(sign(nodes) for sign in signs)


def loads_infinity(nodes: Sequence[ast.AST]) -> bool:
    """Whether a call that loads or chooses numbers has an infinity for what is not there."""
    names = _names_of_infinity(nodes)
    calls = (node for node in nodes if isinstance(node, ast.Call) and _last_name(node.func) in ("load", "where"))
    given = (one for call in calls for one in (*call.args, *(word.value for word in call.keywords)))
    return any(_is_infinite(one, names) for one in given)


def takes_root(nodes: Sequence[ast.AST]) -> bool:
    """Whether a root is taken, by a call or by a power of a half."""
    powers = (node.right for node in nodes if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow))
    return has("sqrt", "rsqrt", "norm")(nodes) or any(abs(_number(one)) == 0.5 for one in powers)


def makes_zeros(nodes: Sequence[ast.AST]) -> bool:
    """Whether a tensor of zeros is made, or something multiplied by 0."""
    return has("zeros", "zeros_like", "new_zeros", "zero_")(nodes) or any(
        _number(factor) == 0 for node in nodes for factor in _factors(node)
    )


def compares_numbers(nodes: Sequence[ast.AST]) -> bool:
    """Whether tensors are compared by their numbers, and nearer than to a tenth."""
    calls = [node for node in nodes if isinstance(node, ast.Call) and _last_name(node.func) in COMPARING]
    limits = [_number(word.value) for call in calls for word in call.keywords if word.arg in ("atol", "rtol")]
    differences = has("abs", "norm", "max", "amax")(nodes) and any(isinstance(node, ast.Compare) for node in nodes)
    return (bool(calls) or differences) and all(limit < COARSE for limit in limits)


def keeps_tensor(nodes: Sequence[ast.AST]) -> bool:
    """Whether a constructor puts a tensor that it makes into a plain attribute."""
    for init in nodes:
        if not isinstance(init, ast.FunctionDef) or init.name != "__init__":
            continue
        made = set[str]()
        for node in ast.walk(init):
            if isinstance(node, ast.Assign) and (_makes_tensor(node.value) or _last_name(node.value) in made):
                made |= {target.id for target in node.targets if isinstance(target, ast.Name)}
                if any(isinstance(target, ast.Attribute) for target in node.targets):
                    return True
    return False


def _makes_tensor(node: ast.expr) -> bool:
    """Whether it is a tensor that is neither a parameter nor part of a layer."""
    if isinstance(node, (ast.BinOp, ast.Compare, ast.UnaryOp, ast.Subscript)):
        return any(_makes_tensor(part) for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr))
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    return _last_name(node.func) in TENSORS or _makes_tensor(node.func.value)


def _number(node: ast.AST) -> float:
    """The number that a node is, with its sign; NaN if it is none."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_number(node.operand)
    value = getattr(node, "value", None) if isinstance(node, ast.Constant) else None
    return float(value) if isinstance(value, (int, float)) else math.nan


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
