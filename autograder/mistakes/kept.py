"""What the text of a module shows that a call leaves for later ones: attributes, caches beside it, cached functions."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field

from ..checks.source_text import names_under, readable
from .student_line import parsed
from .text import Function, Text, without_inner

CACHED = ("cache", "lru_cache", "cached_property")
FILLING = ("append", "extend", "insert", "add", "update", "setdefault")  # of Python's containers
ITSELF = ("self", "type(self)", "self.__class__")  # an object, or its class


def kept_from_calls(text: Text) -> dict[str, str]:
    """What a call of a module may leave for the next one, by its name in the text, each with the line that sets it.

    Looked at are the definition and what it uses of the student's cells. What each call sets before it reads it, and
    what is never read, leaves nothing.
    """
    found: dict[str, str] = {}
    for part in _parts(text):
        for function in _of_calls(part.tree):
            for name, node in _left_by(function).items():
                found.setdefault(name, part.line(node))
    used = {name for part in _parts(text) for name in names_under(part.tree)}
    for node in ast.walk(text.tree):  # methods are called by an attribute's name
        found |= _cached(node)
    for cell in text.cells:
        for node in parsed(cell).body:
            if isinstance(node, Function) and node.name in used:
                found |= _cached(node)
    return found


def _parts(text: Text) -> list[Text]:
    """The definition, and the functions and classes of the cells that it uses, directly or by another one."""
    beside: dict[str, Text] = {}
    for cell in text.cells:
        for node in parsed(cell).body:
            if isinstance(node, (*Function, ast.ClassDef)):
                beside[node.name] = Text(ast.get_source_segment(readable(textwrap.dedent(cell)), node) or "", ())
    parts, left = [text], [text]
    while left:
        used = names_under(left.pop().tree)
        new = [beside.pop(name) for name in sorted(used & beside.keys())]
        parts, left = parts + new, left + new
    return parts


def _of_calls(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """The functions that run in a call of a module: its methods but `__init__`, and functions that stand alone."""
    for owner in ast.walk(tree):
        body = owner.body if isinstance(owner, (ast.Module, ast.ClassDef)) else []
        functions = [node for node in body if isinstance(node, Function)]
        if isinstance(owner, ast.Module) or any(node.name == "forward" for node in functions):
            yield from (node for node in functions if node.name != "__init__")


def _cached(node: ast.AST) -> dict[str, str]:
    """The name of a function whose results are cached, with the line that says so."""
    if not isinstance(node, Function):
        return {}
    for decorator in node.decorator_list:
        shown = _dotted(decorator.func if isinstance(decorator, ast.Call) else decorator)
        if shown.split(".")[-1] in CACHED:
            return {node.name: f"@{shown}"}
    return {}


@dataclass
class _Use:
    """How a function uses a name: the nodes that set it or fill what it holds, and the lines that read it."""

    sets: list[ast.stmt | ast.expr] = field(default_factory=list)
    fills: list[ast.stmt | ast.expr] = field(default_factory=list)
    reads: list[int] = field(default_factory=list)


def _left_by(function: ast.FunctionDef | ast.AsyncFunctionDef) -> dict[str, ast.stmt | ast.expr]:
    """What a function may read before it sets it, where that outlives the call, with the node that sets it."""
    found: dict[str, ast.stmt | ast.expr] = {}
    for name, use in _uses(function).items():
        where = [*use.sets, *use.fills]
        if not where or not use.reads:
            continue
        anew = [node for node in use.sets if node in function.body and isinstance(node, ast.Assign)]
        if not anew or min(use.reads) <= (anew[0].end_lineno or anew[0].lineno):
            found[name] = next((node for node in where if _gives(node, name)), where[0])
    return found


def _gives(node: ast.stmt | ast.expr, name: str) -> bool:
    """Whether a node gives a name more than nothing, or what it had."""
    value = getattr(node, "value", None)
    return value is None or not (isinstance(value, ast.Constant) or name in map(_shown, ast.walk(value)))


def _uses(function: ast.FunctionDef | ast.AsyncFunctionDef) -> dict[str, _Use]:
    """How a function uses each name that outlives its calls."""
    nodes = list(without_inner(function.body))
    outer = _Outer.of(function, nodes)
    uses: dict[str, _Use] = {}
    written: set[int] = set()  # the nodes by which something is set or filled, which are no reads
    for node in nodes:
        for target, is_item in _changed(node):
            name = _shown(target)
            if isinstance(node, (ast.stmt, ast.expr)) and outer.lasts(target, is_item):
                use = uses.setdefault(name, _Use())
                (use.fills if is_item else use.sets).append(node)
                if _reads_too(node):
                    use.reads.append(node.lineno)
                written.add(id(target))
    for node in nodes:
        name = _shown(node)
        if name in uses and id(node) not in written and isinstance(node, ast.expr):
            uses[name].reads.append(node.lineno)
    return uses


def _reads_too(node: ast.AST) -> bool:
    """Whether what sets something reads it as well: `+=`, `setdefault`."""
    called = node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""
    return isinstance(node, ast.AugAssign) or called == "setdefault"


def _changed(node: ast.AST) -> Iterator[tuple[ast.expr, bool]]:
    """What a statement sets, or fills: the node that names it, and whether only an item of it is set."""
    targets: list[ast.expr] = []
    if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
        targets = list(node.targets) if isinstance(node, ast.Assign) else [node.target]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in FILLING:
        yield node.func.value, True
    while targets:
        target = targets.pop(0)
        if isinstance(target, (ast.Tuple, ast.List)):
            targets += target.elts
            continue
        base = target = target.value if isinstance(target, ast.Starred) else target
        while isinstance(base, ast.Subscript):
            base = base.value
        yield base, base is not target


def _shown(node: ast.AST) -> str:
    """The name that a node reads or sets, as `self.w` or `CACHE`; `self.w`, too, where it asks for "w" by `getattr`."""
    if isinstance(node, ast.Attribute) and _dotted(node.value) in ITSELF:
        return f"self.{node.attr}"
    if isinstance(node, ast.Call) and _dotted(node.func) in ("getattr", "hasattr") and len(node.args) > 1:
        owner, name = node.args[:2]
        return f"self.{name.value}" if _dotted(owner) in ITSELF and isinstance(name, ast.Constant) else ""
    return _dotted(node) if isinstance(node, (ast.Name, ast.Attribute)) else ""


def _dotted(node: ast.AST) -> str:
    """A name with at most one attribute, as `self.w`, or `type(self)`; empty for what is longer."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{node.value.id}.{node.attr}"
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "type":
        return f"type({', '.join(map(_dotted, node.args[:1]))})"
    return ""


@dataclass(frozen=True)
class _Outer:
    """Which names of a function outlive its calls."""

    own: frozenset[str]  # names that each call sets again
    shared: frozenset[str]  # names that it says are global

    @classmethod
    def of(cls, function: ast.FunctionDef | ast.AsyncFunctionDef, nodes: list[ast.AST]) -> _Outer:
        """Those of a function with these nodes. An argument that is a container by default is one for all calls."""
        given = function.args
        arguments = [*given.posonlyargs, *given.args, *given.kwonlyargs, *filter(None, (given.vararg, given.kwarg))]
        positional = [*given.posonlyargs, *given.args]
        defaults = list(zip(positional[len(positional) - len(given.defaults) :], given.defaults, strict=True))
        defaults += [(one, value) for one, value in zip(given.kwonlyargs, given.kw_defaults, strict=True) if value]
        lasting = {one.arg for one, value in defaults if isinstance(value, (ast.Dict, ast.List, ast.Set))}
        shared = {name for node in nodes if isinstance(node, ast.Global) for name in node.names}
        stored = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        return cls(frozenset(({one.arg for one in arguments} - lasting) | (stored - shared)), frozenset(shared))

    def lasts(self, target: ast.expr, is_item: bool) -> bool:
        """Whether what is set, or of which an item is set, is there in the next call."""
        if isinstance(target, ast.Name):
            return target.id in self.shared or (is_item and target.id not in self.own)
        if not isinstance(target, ast.Attribute):
            return False
        owner = target.value
        return _dotted(owner) in ITSELF or (isinstance(owner, ast.Name) and owner.id not in self.own)
