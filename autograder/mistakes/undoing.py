"""What undoes slips that stop an answer, or leave it without its layers, or refuse by another error.

All else in it is then still unknown. Such a slip costs the same in each exercise, whatever the length of an answer. So
these edits come first, and they are few. Nothing is taken from a right answer: where something is missing, the answer
has made it and not used it.
"""

from __future__ import annotations

import ast
import builtins
import difflib
import itertools
from collections import Counter
from collections.abc import Collection, Iterable, Iterator

from .edits import Context, EditsOf, Mutant, Page, name_called

CONSTRUCTOR = "constructor called"
REFUSAL = "refusal by a ValueError"
REGISTERED = "layers registered"
APART = "layers made apart"
LAYER = "layer made of a number"
OWN = "name of an object's own"
MEANT = "name that is there"
ARGUMENT = "unused name passed"
PART = "part of a pair"
ROOT = "root of a number"
FILLED = "masked_fill in place of a product"
CHANGES = {  # what such an edit changes in the line, by its kind
    CONSTRUCTOR: "with `super().__init__()` called first in `__init__`",
    REFUSAL: "with a `ValueError` in place of the error in this line",
    REGISTERED: "with the layers of this line in an `nn.ModuleList`, which registers them",
    APART: "with a layer of its own in each place of this line",
    LAYER: "with an `nn.Dropout` made of the number in this line",
    OWN: "with what this line names kept on `self` in `__init__`",
    MEANT: "with a name that is there in place of one in this line that is not",
    ARGUMENT: "with one more argument in this line, a name that is made and never used",
    PART: "with `.values` of the pair in this line",
    ROOT: "with `** 0.5` in place of the function in this line, which takes a tensor",
    FILLED: "with `masked_fill` in this line in place of a product with infinity, which is NaN for 0",
}
PAIRED = {"max", "min", "median", "mode", "sort", "topk", "cummax", "cummin", "kthvalue"}  # methods that give a pair
TENSORS = {"torch", "np", "numpy"}  # modules whose `sqrt` is meant, and not that of `math`
SEQUENCES = (ast.List, ast.Tuple, ast.ListComp, ast.BinOp)
MOST_NEAR = 2  # names that are spelt nearly as one that is missing
MOST_UNUSED, MOST_PLACES = 3, 4  # names that are made and never used, and places among the arguments of a call
INF = ("inf", "-inf")


def undone(tree: ast.Module) -> EditsOf:
    """What undoes such slips in this program."""
    made, unused, called = _made_by_calls(tree), _unused(tree), _called_of_self(tree)

    def edits(node: ast.AST, context: Context) -> Iterator[tuple[str, ast.AST]]:
        if isinstance(node, ast.stmt):
            yield from _with_constructor(node, context)
            yield from _refusing(node)
        if isinstance(node, ast.Assign):
            yield from _assigned(node, made, called)
        if isinstance(node, ast.expr):
            yield from _made_apart(node, made)
            yield from _computed(node, context)
        if isinstance(node, ast.Call):
            yield from _with_unused(node, unused.get(id(node), []))

    return edits


def _with_constructor(node: ast.stmt, context: Context) -> Iterator[tuple[str, ast.AST]]:
    """The parent's constructor called where a class's own does not, or by another name."""
    parent = context.parent
    if not isinstance(parent, ast.FunctionDef) or parent.name != "__init__" or context.field != "body":
        return
    right = ast.parse("super().__init__()").body
    if any(name in ast.unparse(statement) for statement in parent.body for name in ("super", "Module.__init__")):
        if isinstance(node, ast.Expr) and "super" in ast.unparse(node):
            yield CONSTRUCTOR, right[0]
    elif node is next(one for one in parent.body if not _is_docstring(one)):
        yield CONSTRUCTOR, ast.Module([*right, node], [])


def _refusing(node: ast.stmt) -> Iterator[tuple[str, ast.AST]]:
    """A refusal with the error that this course asks for."""
    error = ast.Name("ValueError", ast.Load())
    if isinstance(node, ast.Raise) and isinstance(node.exc, (ast.Call, ast.Name)):
        given = node.exc.args if isinstance(node.exc, ast.Call) else []
        if ast.unparse(node.exc.func if isinstance(node.exc, ast.Call) else node.exc) != error.id:
            yield REFUSAL, ast.Raise(ast.Call(error, given, []))
    elif isinstance(node, ast.Assert):
        call = ast.Call(error, [node.msg] if node.msg else [], [])
        yield REFUSAL, ast.If(ast.UnaryOp(ast.Not(), node.test), [ast.Raise(call)], [])


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _assigned(node: ast.Assign, made: dict[str, ast.Call], called: set[str]) -> Iterator[tuple[str, ast.AST]]:
    """Layers of an assignment to attributes: registered, or one of its own for each target."""
    names = [ast.unparse(target) for target in node.targets]
    if not all(name.startswith("self.") for name in names):
        return
    if isinstance(node.value, SEQUENCES):
        call = ast.Call(ast.parse("nn.ModuleList", mode="eval").body, [node.value], [])
        yield REGISTERED, ast.Assign(node.targets, call, lineno=node.lineno)
    layer = node.value if isinstance(node.value, ast.Call) else made.get(ast.unparse(node.value))
    if layer is not None and (len(names) > 1 or layer is not node.value):
        yield APART, ast.Module([ast.Assign([target], layer, lineno=node.lineno) for target in node.targets], [])
    if isinstance(node.value, ast.Name) and called.intersection(names):
        call = ast.Call(ast.parse("nn.Dropout", mode="eval").body, [node.value], [])
        yield LAYER, ast.Assign(node.targets, call, lineno=node.lineno)


def _made_apart(node: ast.expr, made: dict[str, ast.Call]) -> Iterator[tuple[str, ast.AST]]:
    """A new object in each place: for `[layer] * n`, and for a layer that was made before its loop."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        for one, many in ((node.left, node.right), (node.right, node.left)):
            if isinstance(one, ast.List) and len(one.elts) == 1 and (call := _call_of(one.elts[0], made)):
                yield APART, ast.parse(f"[{ast.unparse(call)} for _ in range({ast.unparse(many)})]", mode="eval").body
    elif isinstance(node, ast.ListComp) and not isinstance(node.elt, ast.Call) and (call := _call_of(node.elt, made)):
        yield APART, ast.ListComp(call, node.generators)


def _call_of(node: ast.expr, made: dict[str, ast.Call]) -> ast.Call | None:
    """The call that made a value; None if it is not known."""
    return node if isinstance(node, ast.Call) else made.get(ast.unparse(node))


def _computed(node: ast.expr, context: Context) -> Iterator[tuple[str, ast.AST]]:
    """What torch refuses or makes NaN of, written otherwise."""
    if isinstance(node, ast.Call):
        name, of = name_called(node), ast.unparse(node.func).rpartition(".")[0]
        if name in PAIRED and of and not isinstance(context.parent, (ast.Attribute, ast.Subscript)):
            yield PART, ast.Attribute(node, "values", ast.Load())
        if name == "sqrt" and of in TENSORS and len(node.args) == 1:
            yield ROOT, ast.BinOp(node.args[0], ast.Pow(), ast.Constant(0.5))
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        for scores, added in ((node.left, node.right), (node.right, node.left)):
            for mask, infinite in _products(added):
                text = f"({ast.unparse(scores)}).masked_fill(({ast.unparse(mask)}) != 0, {ast.unparse(infinite)})"
                yield FILLED, ast.parse(text, mode="eval").body


def _products(node: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What is multiplied by infinity, and that."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        for mask, infinite in ((node.left, node.right), (node.right, node.left)):
            if _is_infinite(infinite):
                yield mask, infinite


def _is_infinite(node: ast.expr) -> bool:
    """Whether it is written as infinity, with either sign: `torch.inf`, `-math.inf`, `float("-inf")`."""
    if isinstance(node, ast.UnaryOp):
        return _is_infinite(node.operand)
    if isinstance(node, ast.Call):
        return name_called(node) == "float" and [ast.unparse(arg).strip("'\"") in INF for arg in node.args] == [True]
    return isinstance(node, ast.Attribute) and node.attr == "inf"


def _with_unused(node: ast.Call, names: list[str]) -> Iterator[tuple[str, ast.AST]]:
    """A call with one more argument."""
    for place, name in itertools.product(range(min(len(node.args) + 1, MOST_PLACES)), names):
        args = [*node.args[:place], ast.Name(name, ast.Load()), *node.args[place:]]
        yield ARGUMENT, ast.Call(node.func, args, node.keywords)


# --- what a method looks for outside ----------------------------------------------------------------


def kept(text: str) -> Iterator[Mutant]:
    """The program with what a constructor takes or makes kept on `self`, for methods that look for it outside.

    For each such name there is one. Raises SyntaxError.
    """
    page, tree = Page(text), ast.parse(text)
    for node in ast.walk(tree):
        methods = (
            [one for one in node.body if isinstance(one, ast.FunctionDef)] if isinstance(node, ast.ClassDef) else []
        )
        for first in (one for one in methods if one.name == "__init__"):
            uses: dict[str, list[ast.Name]] = {}
            for method in methods:
                for name in _looked_for(method) if method is not first else ():
                    uses.setdefault(name.id, []).append(name)
            known = _bound(first) - _bound(tree) - vars(builtins).keys()
            yield from (_kept_on_self(page, first, name, uses[name]) for name in uses if name in known)


def meant(text: str, missing: Collection[str]) -> Iterator[Mutant]:
    """The program with a name that a function takes or makes in place of one that is `missing`, in all of the function.

    Those that are spelt nearly so come first, then those that it makes no use of. Raises SyntaxError.
    """
    page, tree = Page(text), ast.parse(text)
    unused = _unused(tree)
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        uses = [name for name in _looked_for(function) if name.id in missing]
        calls = (unused.get(id(node), []) for node in ast.walk(function))
        likely = next(filter(None, calls), [])
        taken = [one.arg for one in function.args.args if one.arg != "self"]
        near = difflib.get_close_matches(uses[0].id, sorted(_bound(function)), n=MOST_NEAR) if uses else ()
        for name in dict.fromkeys([*near, *likely, *taken[:MOST_PLACES]]) if uses else ():
            put = [(*page.span(use), name) for use in uses]
            yield Mutant(MEANT, _with_put(page, put), page.text, uses[0].lineno, "", page.span(uses[0]))


def _with_put(page: Page, put: Iterable[tuple[int, int, str]]) -> str:
    """The text of a page with something else from each of these bytes to another."""
    pieces, end = [], 0
    for start, stop, new in sorted(put):
        pieces += [page.bytes[end:start], new.encode()]
        end = stop
    return b"".join([*pieces, page.bytes[end:]]).decode()


def _kept_on_self(page: Page, constructor: ast.FunctionDef, name: str, uses: list[ast.Name]) -> Mutant:
    """The program with this name kept at the end of its constructor, and read from `self` in these places."""
    last = constructor.body[-1]
    at = page.starts[last.lineno - 1]
    indent = " " * (len(page.bytes[at:]) - len(page.bytes[at:].lstrip(b" ")))
    end = page.span(last)[1]
    put = [(end, end, f"\n{indent}self.{name} = {name}")]
    put += [(start, start, "self.") for start, _ in map(page.span, uses)]
    return Mutant(OWN, _with_put(page, put), page.text, uses[0].lineno, "", page.span(uses[0]))


def _looked_for(method: ast.FunctionDef) -> list[ast.Name]:
    """The names that a method reads, and neither takes nor makes."""
    own = _bound(method)
    names = [node for node in ast.walk(method) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]
    return [node for node in names if node.id not in own]


def _bound(node: ast.AST) -> set[str]:
    """The names that a function takes and assigns, or a module defines."""
    if isinstance(node, ast.Module):
        defined = [one for one in node.body if isinstance(one, (ast.FunctionDef, ast.ClassDef))]
        targets = [target for one in node.body if isinstance(one, ast.Assign) for target in one.targets]
        return {one.name for one in defined} | {ast.unparse(target) for target in targets}
    found = {one.arg for one in ast.walk(node) if isinstance(one, ast.arg)}
    return found | {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


# --- what a program says of itself ------------------------------------------------------------------


def _made_by_calls(tree: ast.Module) -> dict[str, ast.Call]:
    """The calls that made what is assigned once alone, by names and attributes."""
    assigned = [node for node in ast.walk(tree) if isinstance(node, ast.Assign)]
    many = Counter(ast.unparse(target) for node in assigned for target in node.targets)
    made = {ast.unparse(t): node.value for node in assigned for t in node.targets if isinstance(node.value, ast.Call)}
    return {name: call for name, call in made.items() if many[name] == 1}


def _called_of_self(tree: ast.Module) -> set[str]:
    """The attributes that are called as functions, such as `self.dropout`."""
    called = (ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call))
    return {name for name in called if name.startswith("self.")}


def _unused(tree: ast.Module) -> dict[int, list[str]]:
    """The names that a function takes or assigns and never uses, by the ids of the calls in it."""
    found: dict[int, list[str]] = {}
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        nodes = list(ast.walk(function))
        names = [node for node in nodes if isinstance(node, ast.Name)]
        own = [one.arg for one in (*function.args.args, *function.args.kwonlyargs)]
        own += [name.id for name in names if isinstance(name.ctx, ast.Store)]
        used = {name.id for name in names if isinstance(name.ctx, ast.Load)} | {"self", "_"}
        unused = list(dict.fromkeys(name for name in own if name not in used))[:MOST_UNUSED]
        found |= {id(node): unused for node in nodes if isinstance(node, ast.Call) and unused}
    return found
