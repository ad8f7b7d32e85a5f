"""Systematic edits of a program, one at a time: what a slip of the hand may make of a right answer, or undo."""

import ast
import difflib
import itertools
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias, cast

BINARY = (ast.Add, ast.Sub, ast.Mult, ast.Div)
COMPARED = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
BITWISE = {ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd}
# functions and methods that take the same arguments
SWAPPED = [
    ("sum", "mean"),
    ("max", "min"),
    ("amax", "amin"),
    ("amax", "mean"),
    ("tril", "triu"),
    ("ones", "zeros"),
    ("ones_like", "zeros_like"),
    ("any", "all"),
    ("argmax", "argmin"),
    ("reshape", "view"),
    ("cat", "stack"),
    ("exp", "sigmoid"),
    ("logical_and", "logical_or"),
    ("softmax", "log_softmax"),
]
DIM_DROPPED = {"softmax": "sigmoid"}  # the other one takes no dimension
SHAPED = {"transpose": "reshape", "swapaxes": "reshape", "permute": "reshape"}  # to the shape that it would have
MODULES = {"torch", "F", "nn", "math", "functional", "np", "einops"}
NAMESPACES = {"nn", "torch.nn"}  # what is made by a call of these cannot be replaced by its argument
BARE = (ast.Constant, ast.Name, ast.keyword, ast.Slice, ast.Tuple, ast.Starred)  # they show nothing by themselves
LONGEST_PART = 60  # characters of a line
PLAIN = re.compile(r"[\w .,:…()\[\]=+*/%@&|^~<>!'\"-]+", re.ASCII)  # what a sentence may quote as it is
MOST_NAMES = 5  # parameters without a default that are mixed up with each other, at most


@dataclass(frozen=True)
class Mutant:
    """A program with one edit of that `kind`, at that `line` of its text: its whole text, and that of the program.

    `part` is the smallest part of that line that shows what is edited; empty if the line does. `span` is where the
    bytes of what is edited begin and end in the text of the program.
    """

    kind: str
    source: str
    original: str
    line: int
    part: str
    span: tuple[int, int]

    def diff(self) -> str:
        """The lines that differ."""
        lines = difflib.unified_diff(self.original.splitlines(), self.source.splitlines(), lineterm="", n=0)
        return "\n".join(line for line in lines if not line.startswith(("---", "+++", "@@")))


@dataclass(frozen=True)
class Context:
    """Where a node stands: `field` of `parent`, in a function with these parameters without a default.

    `outer` is where the parent stands; None if nothing around it may be edited.
    """

    parent: ast.AST
    field: str
    parameters: tuple[str, ...]
    outer: "Context | None"


class Edit(NamedTuple):
    """What may stand in a node's place, the `kind` of that edit, and where the node stands."""

    kind: str
    node: ast.AST
    new: ast.AST
    context: Context

    @property
    def line(self) -> int:
        """The number of the line where the node begins."""
        return getattr(self.node, "lineno", 0)


EditsOf: TypeAlias = Callable[[ast.AST, Context], Iterator[tuple[str, ast.AST]]]  # of one node, each with its kind


def mutants_of(text: str) -> list[Mutant]:
    """All mutants of a program by slips of the hand, in the order of its text, each once. Raises SyntaxError."""
    return list(made(text, edits_in(ast.parse(text), slips)))


def edits_in(tree: ast.Module, edits_of: EditsOf) -> Iterator[Edit]:
    """The edits of all nodes of a program, in the order of its text."""
    for node, context in _places(tree):
        for kind, new in edits_of(node, context):
            yield Edit(kind, node, new, context)


def made(text: str, edits: Iterable[Edit]) -> Iterator[Mutant]:
    """The mutants of a program by these edits of its nodes, each text once, without those that don't compile.

    All but the edited node stays as it was written.
    """
    page = Page(text)
    seen = {page.text}
    for edit in edits:
        source = page.with_edit(edit)
        if source and source not in seen and _compiles(source):
            seen.add(source)
            yield Mutant(
                edit.kind, source, page.text, edit.line, page.part(edit), page.span(cast("ast.expr", edit.node))
            )


class Page:
    """The text of a program, in which nodes have places: lines end as Python ends them, columns are bytes."""

    def __init__(self, text: str) -> None:
        self.text = text.replace("\r\n", "\n").replace("\r", "\n")
        self.bytes = self.text.encode()
        self.starts = [0, *itertools.accumulate(len(line) + 1 for line in self.bytes.split(b"\n"))]

    def with_edit(self, edit: Edit) -> str:
        """The text with something else in a node's place; empty if that cannot be written."""
        node = cast("ast.stmt | ast.expr", edit.node)
        first = self.starts[node.lineno - 1]
        start, end = self.span(node)
        try:
            new = ast.unparse(edit.new)
        except (ValueError, RecursionError):  # a number that is too long, or something nested too deeply
            return ""
        before = self.bytes[first:start].decode()
        if not isinstance(node, ast.stmt):
            new = f"({new})"
        elif not before.strip():
            new = new.replace("\n", "\n" + before)
        return (self.bytes[:start] + new.encode() + self.bytes[end:]).decode()

    def part(self, edit: Edit) -> str:
        """The smallest part of a line that shows what an edit changes; empty if that is long, or a statement.

        A number or a name shows nothing by itself, but what it is an operand or an argument of does.
        """
        node, context, keyword = edit.node, edit.context, ""
        while isinstance(node, BARE) or _number(node) is not None:
            keyword = self._written(node) if isinstance(node, ast.keyword) else keyword
            if context.outer is None:
                return ""
            node, context = context.parent, context.outer
        if not isinstance(node, ast.expr):
            return ""
        written = self._written(node)
        if keyword and isinstance(node, ast.Call) and len(written) > LONGEST_PART:
            written = f"{name_called(node)}(…, {keyword})"
        return written if len(written) <= LONGEST_PART and PLAIN.fullmatch(written) else ""

    def _written(self, node: ast.expr | ast.keyword) -> str:
        start, end = self.span(node)
        return self.bytes[start:end].decode()

    def span(self, node: ast.stmt | ast.expr | ast.keyword) -> tuple[int, int]:
        """Where the bytes of a node begin and end."""
        ends = self.starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
        return self.starts[node.lineno - 1] + node.col_offset, ends


def _places(tree: ast.Module) -> Iterator[tuple[ast.AST, Context]]:
    """The nodes inside functions that may be edited, in a fixed order: no texts, types, imports or messages."""

    def inside(
        node: ast.AST, parameters: tuple[str, ...], outer: Context | None, of_function: bool
    ) -> Iterator[tuple[ast.AST, Context]]:
        for field, child in _children(node):
            if isinstance(child, (ast.Import, ast.ImportFrom, ast.JoinedStr)) or field in ("annotation", "returns"):
                continue
            if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):  # a docstring
                continue
            if isinstance(node, ast.Raise) or (isinstance(node, ast.FunctionDef) and field == "decorator_list"):
                continue
            context = Context(node, field, parameters, outer)
            if of_function:
                yield child, context
            if isinstance(child, ast.FunctionDef):
                required = child.args.args[: len(child.args.args) - len(child.args.defaults)]
                names = tuple(a.arg for a in required if a.arg != "self")[:MOST_NAMES]
                yield from inside(child, names, context, True)
            else:
                yield from inside(child, parameters, context, of_function)

    return inside(tree, (), None, False)


def _children(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    for field, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield field, child


def _compiles(source: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # such as that of `x is 1`, for each edit
            compile(source, "<mutant>", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


# --- the edits of one node --------------------------------------------------------------------------


def slips(node: ast.AST, context: Context) -> Iterator[tuple[str, ast.AST]]:
    """What a slip of the hand may put in a node's place, each with the kind of that edit."""
    number = _number(node)
    if isinstance(node, ast.stmt):
        yield from _statement(node)
    elif number is not None:
        if not (isinstance(context.parent, ast.UnaryOp) and isinstance(context.parent.op, ast.USub)):
            yield from (("constant", ast.Constant(value)) for value in _other_numbers(number))
    elif isinstance(node, ast.Constant):
        yield from _constant(node)
    elif isinstance(node, ast.BinOp):
        yield from _binary(node)
    elif isinstance(node, ast.Compare):
        for op in COMPARED.get(type(node.ops[0]), ()) if len(node.ops) == 1 else ():
            yield "comparison", ast.Compare(node.left, [op()], node.comparators)
    elif isinstance(node, ast.BoolOp):
        yield "and, or", ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
        yield from (("condition removed", value) for value in node.values)
    elif isinstance(node, ast.UnaryOp):
        yield f"{'minus' if isinstance(node.op, ast.USub) else 'not'} removed", node.operand
    elif isinstance(node, ast.IfExp):
        yield from (("condition removed", value) for value in (node.body, node.orelse))
    elif isinstance(node, ast.Call):
        yield from _call(node)
    elif isinstance(node, ast.Attribute):
        if node.attr in ("T", "mT", "H", "mH"):
            yield "transpose removed", node.value
    elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        yield "index removed", node.value
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in context.parameters:
        yield from (("other name", ast.Name(name, ast.Load())) for name in context.parameters if name != node.id)


def _number(node: ast.AST) -> int | float | None:
    """The number that a node is, with its sign; None if it is none."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _number(node.operand)
        return None if inner is None else -inner
    value = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _other_numbers(number: int | float) -> list[int | float]:
    """The number and one more or less, nothing, one, and the number with the other sign."""
    others = [number - 1, number + 1, type(number)(0), type(number)(1), -number]
    return [other for other in dict.fromkeys(others) if other != number]


def _constant(node: ast.Constant) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(node.value, bool):
        yield "true, false", ast.Constant(not node.value)
    elif node.value == "-inf":
        yield "minus removed", ast.Constant("inf")
    elif isinstance(node.value, str) and "->" in node.value:  # the pattern of einsum or einops
        left, right = node.value.split("->")
        between = " " if " " in right.strip() else ""
        *axes, one, other = right.split() if between else right.strip().rjust(2)
        yield "pattern", ast.Constant(f"{left}->{between}{between.join([*axes, other, one])}")


def _binary(node: ast.BinOp) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(node.op, BINARY):
        yield from (("operator", ast.BinOp(node.left, op(), node.right)) for op in BINARY if op is not type(node.op))
    if isinstance(node.op, ast.MatMult):
        yield "operator", ast.BinOp(node.left, ast.Mult(), node.right)
    if type(node.op) in BITWISE:
        yield "and, or", ast.BinOp(node.left, BITWISE[type(node.op)](), node.right)
    if isinstance(node.op, (ast.Sub, ast.Div, ast.MatMult, ast.Pow)):
        yield "operands swapped", ast.BinOp(node.right, node.op, node.left)
    yield from (("operand removed", operand) for operand in (node.left, node.right))


def _call(node: ast.Call) -> Iterator[tuple[str, ast.AST]]:
    name = name_called(node)
    of = ast.unparse(node.func.value) if isinstance(node.func, ast.Attribute) else ""
    is_method = bool(of) and of.split(".")[-1] not in MODULES and not of.startswith(("self", "super"))
    for number in range(len(node.args)):
        yield "argument removed", ast.Call(node.func, node.args[:number] + node.args[number + 1 :], node.keywords)
    for number in range(len(node.keywords)):
        kept = node.keywords[:number] + node.keywords[number + 1 :]
        yield "argument removed", ast.Call(node.func, node.args, kept)
    for number in range(len(node.args) - 1):
        args = [*node.args]
        args[number], args[number + 1] = args[number + 1], args[number]
        yield "arguments swapped", ast.Call(node.func, args, node.keywords)
    for pair in SWAPPED:
        if name in pair:
            yield "function", ast.Call(_renamed(node.func, pair[name == pair[0]]), node.args, node.keywords)
    if name in DIM_DROPPED:
        yield "function", ast.Call(_renamed(node.func, DIM_DROPPED[name]), [] if is_method else node.args[:1], [])
    if name in SHAPED and is_method and isinstance(node.func, ast.Attribute):
        shape = ast.Attribute(node, "shape", ast.Load())
        yield "function", ast.Call(ast.Attribute(node.func.value, SHAPED[name], ast.Load()), [shape], [])
    if is_method and isinstance(node.func, ast.Attribute):
        kind = "transpose removed" if name in SHAPED or name == "t" else "call removed"
        yield kind, node.func.value
    elif node.args and of not in NAMESPACES and not isinstance(node.args[0], ast.Starred):
        yield "call removed", node.args[0]


def name_called(node: ast.Call) -> str:
    """The name of the function or method that is called; empty if it has none."""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _renamed(function: ast.expr, name: str) -> ast.expr:
    if isinstance(function, ast.Attribute):
        return ast.Attribute(function.value, name, ast.Load())
    return ast.Name(name, ast.Load())


def _statement(node: ast.stmt) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Pass, ast.Global, ast.Nonlocal)):
        return
    if isinstance(node, ast.If):
        if all(isinstance(line, ast.Raise) for line in node.body):
            yield "refusal removed", _instead(node.orelse)
        else:
            yield "condition removed", _instead(node.body)
            yield "statement removed", _instead(node.orelse)
        return
    if isinstance(node, ast.AugAssign):
        for op in BINARY if isinstance(node.op, BINARY) else ():
            if op is not type(node.op):
                yield "operator", ast.AugAssign(node.target, op(), node.value)
    if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple):
        yield "results swapped", ast.Return(ast.Tuple(node.value.elts[::-1], ast.Load()))
        if len(node.value.elts) == 2:  # of more, each could be a guess
            yield from (("part of a result", ast.Return(value)) for value in node.value.elts)
    if isinstance(node, (ast.For, ast.While, ast.With)):
        yield "loop or block removed", _instead(node.body)
    yield "statement removed", ast.Pass()


def _instead(lines: Sequence[ast.stmt]) -> ast.stmt:
    """Some statements as one."""
    if not lines:
        return ast.Pass()
    return lines[0] if len(lines) == 1 else ast.If(ast.Constant(True), [*lines], [])
