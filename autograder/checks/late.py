"""Finds out, from the text of a submission alone, whether one of its definitions can be replaced after its cells ran.

It can where the others look it up when they are called, as functions do with names, and keep nothing from one call to
the next. What is not certain counts as no.
"""

import ast
import builtins
from collections.abc import Collection

from .source_text import Source, bindings_in, globals_of, of_a_cell, root_of

DECORATORS = {"staticmethod", "classmethod", "property"}  # those of which it is known that they keep nothing
UNSEEN = {"setattr", "delattr", "globals", "vars", "exec", "eval", "__import__"}  # may keep something where none looks
BUILTINS = frozenset(dir(builtins))
CONSTANT = (ast.Constant, ast.Tuple, ast.UnaryOp, ast.unaryop, ast.Load)


def looks_up_late(source: Source, replaced: Collection[str], uses: Collection[str] = ()) -> bool:
    """Whether the definition of an exercise, and all that it uses, looks up the names `replaced` when it is called.

    `uses` are the names that the new definitions use.
    """
    known: dict[str, list[ast.AST]] = {}
    for cell in source.cells:
        found = bindings_in(cell)
        if found is None:
            return False
        for node, names in found:
            for name in () if isinstance(node, ast.Expr) else names:  # for what a call may change, see `_changes`
                known.setdefault(name, []).append(node)
    seen, waiting, read = set(replaced), {source.name, *uses}, {source.name, *replaced}
    try:
        while waiting := waiting - seen:
            seen |= waiting
            nodes = [node for name in waiting for node in known.get(name, ())]
            if not all(_is_late(node, replaced) for node in nodes):
                return False
            waiting = set[str]().union(*map(globals_of, nodes))
            read |= waiting
        if read - known.keys() - BUILTINS:
            return False
        changed = map(_changes, source.cells)
        if not all(names is not None and names.isdisjoint(read) for names in changed):
            return False
    except (RecursionError, MemoryError, ValueError, SyntaxError):
        return False
    return source.name in known


@of_a_cell
def _changes(tree: ast.Module) -> frozenset[str] | None:
    """The names that a cell may change other than by assigning to them; None if these may be any."""
    names = set[str]()
    for part in ast.walk(tree):
        if isinstance(part, ast.Name) and part.id in UNSEEN:
            return None
        if isinstance(part, ast.Attribute | ast.Subscript) and not isinstance(part.ctx, ast.Load):
            root = root_of(part)
            if isinstance(root, ast.Name):
                names.add(root.id)
    return frozenset(names)


def _is_late(node: ast.AST, replaced: Collection[str]) -> bool:
    """Whether a definition computes nothing when it is made, and keeps nothing when it is called."""
    if isinstance(node, ast.FunctionDef):
        defaults = [*node.args.defaults, *filter(None, node.args.kw_defaults)]
        decorators = {ast.unparse(decorator) for decorator in node.decorator_list}
        return decorators <= DECORATORS and all(map(_is_constant, defaults)) and _keeps_nothing(node)
    if isinstance(node, ast.ClassDef):
        bases = {ast.unparse(base) for base in node.bases}
        are_named = all(isinstance(base, ast.Name | ast.Attribute) for base in node.bases)
        is_plain = are_named and bases.isdisjoint(replaced) and not node.decorator_list and not node.keywords
        return is_plain and all(_is_text(part) or _is_late(part, replaced) for part in node.body)
    if isinstance(node, ast.Assign | ast.AnnAssign):
        return node.value is None or _is_constant(node.value)
    return isinstance(node, ast.Import | ast.ImportFrom | ast.Pass)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_constant(value: ast.expr) -> bool:
    """Whether an expression is a number, a text or the like, or a tuple of such: nothing that can be changed."""
    return all(isinstance(part, CONSTANT) for part in ast.walk(value))


def _keeps_nothing(function: ast.FunctionDef) -> bool:
    """Whether a function changes nothing but its own variables and arguments, and their contents."""
    own = {part.arg for part in ast.walk(function) if isinstance(part, ast.arg)}
    own |= {part.id for part in ast.walk(function) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
    return all(_is_harmless(part, own) for part in ast.walk(function))


def _is_harmless(part: ast.AST, own: Collection[str]) -> bool:
    if isinstance(part, ast.Name):
        return part.id not in UNSEEN
    if isinstance(part, ast.Attribute) and part.attr.startswith("__") and part.attr != "__init__":
        return False
    if isinstance(part, ast.Attribute | ast.Subscript) and not isinstance(part.ctx, ast.Load):
        root = root_of(part)
        return isinstance(root, ast.Name) and root.id in own
    return not isinstance(part, ast.Global)
