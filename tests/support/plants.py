"""Slips that are planted in right answers, by kind: each where it fits, the same ones in each run.

A kind is one of those in mistakes/prices.py, and its plants are the edits by which a right answer makes such a slip.
"""

import ast
import random
import re
from collections.abc import Callable, Iterator

from autograder import course
from autograder.mistakes.bank import right_answer
from autograder.mistakes.edits import Context, EditsOf, edits_in, made, name_called

LITERALS = (ast.Tuple, ast.List, ast.ListComp, ast.Dict, ast.Constant)
Plants = Callable[[str], Iterator[str]]  # the texts that a slip makes of a right answer


def _by(edits_of: EditsOf) -> Plants:
    """The plants by edits of one node."""

    def plants(text: str) -> Iterator[str]:
        yield from (one.source for one in made(text, edits_in(ast.parse(text), edits_of)))

    return plants


def _is_returned(node: ast.AST, context: Context) -> bool:
    """Whether a node is what a function of the answer's returns, or a part of it."""
    around = context.outer.parent if context.outer and isinstance(context.parent, ast.Tuple) else context.parent
    return isinstance(node, ast.expr) and not isinstance(node, LITERALS) and isinstance(around, ast.Return)


def _returned(form: str) -> Plants:
    """The plants that give what is returned another form, `form` with the value in it."""

    def edits_of(node: ast.AST, context: Context) -> Iterator[tuple[str, ast.AST]]:
        if _is_returned(node, context):
            yield form, ast.parse(form.format(ast.unparse(node)), mode="eval").body

    return _by(edits_of)


def _renamed(text: str) -> Iterator[str]:
    """A layer or a parameter with another name, everywhere."""
    names = dict.fromkeys(re.findall(r"self\.(\w+) = nn\.(?:Linear|Parameter|Embedding|ModuleList)\(", text))
    yield from (re.sub(rf"\b(self\.){name}\b", rf"\1{name}s", text) for name in names)


def _other_error(node: ast.AST, context: Context) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and name_called(node.exc) == "ValueError":
        yield "error", ast.Raise(ast.Call(ast.Name("TypeError", ast.Load()), node.exc.args, []))


def _no_name(node: ast.AST, context: Context) -> Iterator[tuple[str, ast.AST]]:
    """A call without one of its arguments that is a name."""
    if isinstance(node, ast.Call) and not isinstance(context.parent, ast.Raise):
        for number, argument in enumerate(node.args):
            if isinstance(argument, ast.Name):
                yield "argument", ast.Call(node.func, node.args[:number] + node.args[number + 1 :], node.keywords)


def _no_constructor(node: ast.AST, context: Context) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(node, ast.Expr) and ast.unparse(node) == "super().__init__()":
        yield "constructor", ast.Pass()


def _list_of_layers(node: ast.AST, context: Context) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(node, ast.Call) and name_called(node) == "ModuleList" and node.args:
        (layers,) = node.args
        yield "plain list", layers
        if isinstance(layers, ast.ListComp) and isinstance(layers.elt, ast.Call):
            many = ast.parse(f"[{ast.unparse(layers.elt)}] * len(list({ast.unparse(layers.generators[0].iter)}))")
            yield "one of many", ast.Call(node.func, [many.body[0].value], [])  # type: ignore[attr-defined]


def _one_layer(text: str) -> Iterator[str]:
    """One layer for two places that have alike ones."""
    made = re.findall(r"^( +self\.(\w+) = (nn\.Linear\(.*\)))$", text, re.MULTILINE)
    for (_, first, call), (line, _, other) in zip(made, made[1:], strict=False):
        if call == other:
            yield text.replace(line, line.replace(call, f"self.{first}"))


def _no_device(node: ast.AST, context: Context) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(node, ast.Call) and (kept := [one for one in node.keywords if one.arg != "device"]) != node.keywords:
        yield "device", ast.Call(node.func, node.args, kept)


# by the kinds of mistakes/prices.py
PLANTS: dict[str, dict[str, Plants]] = {
    "name": {"renamed": _renamed},
    "refusal": {"another error": _by(_other_error)},
    "device": {"on the CPU": _by(_no_device)},
    "dtype": {"digits of float32": _returned("({0}).float().to(({0}).dtype)")},
    "form": {"in a tuple": _returned("({},)"), "one more dimension": _returned("({})[None]")},
    "layers": {"in a list": _by(_list_of_layers), "one for two": _one_layer},
    "stops": {"argument": _by(_no_name), "constructor": _by(_no_constructor)},
}


OF_TENSORS = {"digits of float32", "one more dimension"}  # ways that fit where tensors are returned


def said_in_checks(exercise: str, what: str) -> bool:
    """Whether the checks of an exercise say something, read as text: to import all of them takes seconds."""
    return what in (course.folder_of(exercise) / "checks.py").read_text(encoding="utf-8")


def _plants_in(exercise: str, kind: str, way: str) -> Iterator[str]:
    """The right answer with such a slip, in each place where it fits."""
    if way not in OF_TENSORS or not said_in_checks(exercise, "NO_TENSORS"):
        yield from PLANTS[kind][way](right_answer(exercise))


def planted(exercise: str, kind: str, way: str) -> str:
    """A right answer with such a slip, in a place that is drawn by the exercise and the kind."""
    return random.Random(f"{exercise}/{kind}/{way}").choice(list(_plants_in(exercise, kind, way)))


def everywhere() -> list[tuple[str, str, str]]:
    """Each exercise with each kind of slip and each way to make it that fits there."""
    ways = [(kind, way) for kind, each in PLANTS.items() for way in each]
    return [(name, *way) for name in course.exercises() for way in ways if next(_plants_in(name, *way), "")]
