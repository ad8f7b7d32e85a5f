"""What a student's text shows about their answer without being run: names, `return`s, changes in place."""

from __future__ import annotations

import ast
import functools
import itertools
import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeGuard

from ..checks.source_text import names_under
from .student_line import LONGEST, parsed

Function = (ast.FunctionDef, ast.AsyncFunctionDef)
EXPONENTIALS = {"exp", "exp_", "exp2"}
KEEPING = ("register_buffer", "register_parameter", "add_module", "register_module")
NEW_LINE = re.compile("\r\n|\r|\n")  # `splitlines` also splits at a form feed, as in a text or between functions
LARGE, LARGEST, MOST_NUMBERS = 100, 1e300, 4  # numbers of a text that may stand in a mistake, and how many of them
LAYERS = ("nn.Dropout", "torch.nn.Dropout")
DROPOUTS = ("F.dropout", "functional.dropout", "nn.functional.dropout", "torch.nn.functional.dropout")


@dataclass(frozen=True)
class Text:
    """A student's `definition` of an exercise, and all `cells` that were handed in; empty if they cannot be had."""

    definition: str
    cells: tuple[str, ...]

    @functools.cached_property
    def tree(self) -> ast.Module:
        """The definition, parsed."""
        return parsed(self.definition)

    @functools.cached_property
    def own(self) -> ast.stmt | None:
        """The function or the class that the exercise asks for."""
        return next(iter(self.tree.body), None)

    @functools.cached_property
    def lines(self) -> list[str]:
        """The lines of the definition, as Python counts them."""
        return NEW_LINE.split(textwrap.dedent(self.definition))

    def line(self, node: ast.stmt | ast.expr) -> str:
        """The line of the definition at which a node begins."""
        return self.lines[node.lineno - 1].strip()[:LONGEST]

    # --- names ----------------------------------------------------------------------------------------

    @functools.cached_property
    def names(self) -> frozenset[str]:
        """All names that anything in the cells gives a meaning to."""
        return frozenset(name for cell in self.cells for name in _bound(parsed(cell)))

    @property
    def module(self) -> str:
        """The name of the class that the exercise asks for; empty if it is a function."""
        return self.own.name if isinstance(self.own, ast.ClassDef) else ""

    @functools.cached_property
    def kept(self) -> frozenset[str]:
        """The attributes that the class sets, and its methods."""
        if not isinstance(self.own, ast.ClassDef):
            return frozenset()
        found = {node.name for node in self.own.body if isinstance(node, Function)}
        for node in ast.walk(self.own):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                found.add(node.attr)
            elif isinstance(node, ast.Call) and _called(node) in KEEPING and node.args:
                found |= {str(node.args[0].value)} if isinstance(node.args[0], ast.Constant) else set()
        return frozenset(found)

    @functools.cached_property
    def has_own_softmax(self) -> bool:
        """Whether the definition may hold a softmax written by hand, or stand on a function of the cells that does."""
        functions = [part for part in self.parts if isinstance(part, Function)]
        if any("softmax" in function.name.lower() for function in functions):
            return True
        return any(_is_exponential(node) for part in (self.tree, *functions) for node in ast.walk(part))

    @functools.cached_property
    def parts(self) -> list[ast.AST]:
        """The definition, what is defined in its cell, and what of the other cells these name, by way of others.

        What is asked for may be called by another class of its cell, as a cache is.
        """
        others = [node for cell in self.cells for node in parsed(cell).body]
        found, left = list[ast.AST](), [self.tree, *self._beside]
        while left:
            node = left.pop()
            found.append(node)
            names = names_under(node)
            named = [other for other in others if names.intersection(_named_by(other))]
            left += named
            others = [other for other in others if other not in named]
        return found

    @property
    def _beside(self) -> list[ast.AST]:
        """What else the last cell with the definition defines."""
        own = getattr(self.own, "name", "")
        bodies = (parsed(cell).body for cell in reversed(self.cells))
        return [
            node
            for body in itertools.islice((body for body in bodies if any(own in _named_by(node) for node in body)), 1)
            for node in body
            if _named_by(node) - {own}
        ]

    @functools.cached_property
    def nodes(self) -> list[ast.AST]:
        """All nodes of these."""
        return [node for part in self.parts for node in ast.walk(part)]

    @functools.cached_property
    def numbers(self) -> list[str]:
        """The first large numbers in there, such as may be added to hide something, each with a minus."""
        values = (node.value for node in self.nodes if isinstance(node, ast.Constant))
        sizes = (abs(value) for value in values if isinstance(value, (int, float)))
        large = [size for size in sizes if LARGE <= size <= LARGEST]
        return [repr(-float(size)) for size in dict.fromkeys(large)][:MOST_NUMBERS]

    @property
    def keeps_all(self) -> bool:
        """Whether `kept` holds all that an object of the class may have: it is no subclass of another of theirs."""
        if not isinstance(self.own, ast.ClassDef):
            return False
        in_the_class = [target for node in self.own.body for target in _targets(node)]
        calls = {_called(node) for node in ast.walk(self.own) if isinstance(node, ast.Call)}
        bases = {ast.unparse(base) for base in self.own.bases}
        return bases <= {"nn.Module", "torch.nn.Module", "Module"} and not in_the_class and "setattr" not in calls

    @property
    def locals_of_init(self) -> frozenset[str]:
        """The names that `__init__` sets without `self.`, but for its parameters."""
        init = self._method("__init__")
        nodes = ast.walk(init) if init else ()
        return frozenset(n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))

    def left_out(self, form: str, other: str) -> list[tuple[str, int, int]]:
        """The layers that a method `form` uses less often than the `other`, which should compute the same.

        Each comes with how often the two use it, themselves or by way of other methods. All classes that the answer
        names are looked at, which may have both methods as well.
        """
        found = []
        for node in self.nodes:
            if isinstance(node, ast.ClassDef):
                one, two = (_used_by(node, name) for name in (form, other))
                less = [name for name in two if one and name in _made_in(node) and one[name] < two[name]]
                found += [(name, one[name], two[name]) for name in less]
        return list(dict.fromkeys(found))

    def lacks_self(self, method: str) -> bool:
        """Whether a method of the class has no parameter for the object itself."""
        found = self._method(method)
        if found is None or found.decorator_list or found.args.vararg:
            return False
        first = [*found.args.posonlyargs, *found.args.args][:1]
        return not first or first[0].arg != "self"

    def _method(self, name: str) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        body = self.own.body if isinstance(self.own, ast.ClassDef) else []
        return next((node for node in body if isinstance(node, Function) and node.name == name), None)

    # --- statements -----------------------------------------------------------------------------------

    def trailing_comma(self, code: str) -> str:
        """The only line that gives a tuple of one, by a comma at its end, to a name in the line `code`; else empty."""
        used = names_under(parsed(code.removesuffix(":")))
        found = []
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple) and len(node.value.elts) == 1:
                if self._ends_with_a_comma(node.value) and used.intersection(_targets(node)):
                    found.append(self.line(node))
        return found[0] if len(found) == 1 else ""

    def _ends_with_a_comma(self, node: ast.expr) -> bool:
        if node.end_lineno is None or node.end_col_offset is None:
            return False
        return self.lines[node.end_lineno - 1].encode()[: node.end_col_offset].endswith(b",")

    def change_in_place(self) -> str:
        """The only line that may change a tensor in place; empty if there are several, or helpers may do it as well."""
        helpers = {node.name for cell in self.cells for node in parsed(cell).body if isinstance(node, Function)}
        found = {self.line(node) for node in ast.walk(self.tree) if _may_change(node)}
        return found.pop() if len(found) == 1 and not helpers & names_under(self.tree) else ""

    def passed_returns(self) -> list[str] | None:
        """The lines with a `return` of a function that may end without one; None if it returns in any case.

        It is the function that the exercise asks for, or the `forward` of the module.
        """
        function = self.own if isinstance(self.own, Function) else self._method("forward")
        if function is None or _ends(function.body):
            return None
        inside = list(without_inner(function.body))
        if any(isinstance(node, (ast.Yield, ast.YieldFrom)) for node in inside):
            return None
        return [self.line(node) for node in inside if isinstance(node, ast.Return) and node.value is not None]

    def own_dropout(self) -> tuple[str, str] | None:
        """The only line that makes a dropout of a share of its own, and that share; "" if it is left to the default.

        None if there is no such line, or several.
        """
        nodes = list(ast.walk(self.tree))
        if any(isinstance(node, ast.Attribute) and node.attr == "p" and _is_set(node) for node in nodes):
            return None
        if not any(isinstance(node, ast.arg) and "drop" in node.arg for node in nodes):  # nothing else is asked for
            return None
        shares = [(self.line(node), _own_share(node)) for node in nodes if isinstance(node, ast.Call)]
        found = [(line, share) for line, share in shares if share is not None]
        return found[0] if len(found) == 1 else None


def _own_share(call: ast.Call) -> str | None:
    """How much a call drops that makes a dropout, or drops: a number, or "" if it does not say; None for others."""
    name = ast.unparse(call.func)
    if name not in LAYERS + DROPOUTS or any(isinstance(argument, ast.Starred) for argument in call.args):
        return None
    given = [*call.args[name in DROPOUTS :][:1], *(word.value for word in call.keywords if word.arg in ("p", None))]
    if not given:
        return "" if name in LAYERS or call.args else None
    number = given[0].value if len(given) == 1 and isinstance(given[0], ast.Constant) else None
    return f"{number:.4g}" if isinstance(number, (int, float)) and 0 < number < 1 else None


def _named_by(node: ast.stmt) -> set[str]:
    """The names that a statement of a cell gives a meaning to."""
    return {node.name} if isinstance(node, (*Function, ast.ClassDef)) else set(_targets(node))


def _is_exponential(node: ast.AST) -> bool:
    """Whether it names an exponential, or is a power of a number."""
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.Pow) and isinstance(node.left, ast.Constant)
    return getattr(node, "attr", getattr(node, "id", "")) in EXPONENTIALS


def _may_change(node: ast.AST) -> TypeGuard[ast.stmt | ast.expr]:
    """Whether it may change a tensor in place."""
    if isinstance(node, ast.AugAssign):
        number = node.value.value if isinstance(node.value, ast.Constant) else None
        return not (isinstance(node.op, (ast.Add, ast.Sub)) and isinstance(number, int))  # as of what counts
    if isinstance(node, ast.Assign):
        return any(isinstance(target, ast.Subscript) for target in node.targets)
    return isinstance(node, ast.Call) and _called(node).endswith("_") and not _called(node).endswith("__")


def _made_in(node: ast.ClassDef) -> set[str]:
    """The attributes that a call makes in a class, as it makes layers and parameters."""
    given = (part for part in ast.walk(node) if isinstance(part, ast.Assign))
    made = (part for part in given if any(isinstance(one, ast.Call) for one in ast.walk(part.value)))
    targets = (one for part in made for target in part.targets for one in ast.walk(target))
    return {one.attr for one in targets if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store)}


def _used_by(node: ast.ClassDef, method: str) -> Counter[str]:
    """How often a method of a class uses each attribute of `self`, with the methods that it calls."""
    methods = {part.name: part for part in node.body if isinstance(part, Function)}
    found, left, seen = Counter[str](), [method], set[str]()
    while left:
        name = left.pop()
        if name not in methods or name in seen:
            continue
        seen.add(name)
        for part in ast.walk(methods[name]):
            if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id == "self":
                found[part.attr] += 1
                left.append(part.attr)
            elif isinstance(part, ast.Call) and getattr(part.func, "id", "") == "self":
                left.append("forward")
    return found


def _ends(body: Sequence[ast.stmt]) -> bool:
    """Whether nothing goes on behind these statements, as far as is certain; True where it is not."""
    last = body[-1] if body else ast.Pass()
    if isinstance(last, ast.If):
        return _ends(last.body) and _ends(last.orelse)
    if isinstance(last, (ast.With, ast.AsyncWith)):
        return _ends(last.body)
    simple = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Pass, ast.For)
    return not isinstance(last, simple)


def without_inner(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """All nodes of some statements but those of functions and classes defined there."""
    for node in body:
        yield node
        if not isinstance(node, (*Function, ast.ClassDef, ast.Lambda)):
            yield from without_inner(ast.iter_child_nodes(node))


def _bound(tree: ast.AST) -> Iterator[str]:
    """The names that a text gives a meaning to, wherever in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, (*Function, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).split(".")[0]


def _targets(node: ast.stmt) -> list[str]:
    """The plain names that an assignment sets."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _is_set(node: ast.Attribute) -> bool:
    return isinstance(node.ctx, ast.Store)


def _called(call: ast.Call) -> str:
    """The last name of what is called."""
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
