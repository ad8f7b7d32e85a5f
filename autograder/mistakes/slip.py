"""Tells a slip from a guess: whether the edit that makes a wrong answer right changes code that did its work before.

An answer can hold many others, in code that it passes by: `if False: choice = 3`. One edit then makes one of them live,
and all that the answer does comes from the edit. So the edited answer must not need what the answer passed by in every
check that it failed. What an error kept from running, or what nobody called, was not passed by.

A tracer in the student's process would be in the student's hands. Here the answer is run again with parts of it that
stop: if these checks see the same, the parts never ran.
"""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from .edits import Mutant, Page, name_called

STOP = "raise NotImplementedError"
BEFORE, AFTER = "([][0] or (", "))"  # around an expression that shall stop
MOST_RUNS = 100  # of the checks, for one answer; a long right one has 60 parts, and what is left counts as never run
TABLE = 12  # statements alike in one function: an edit of one of them picks a row; right answers have 7 at most
CHANCE = {"manual_seed", "seed", "seed_all", "manual_seed_all", "default_rng", "Generator", "RandomState", "Random"}
ENDS = (ast.Return, ast.Raise, ast.Continue, ast.Break)  # what follows them in a block does not run


@dataclass
class Part:
    """A part of a program that runs as a whole or not at all, but for those inside.

    `stops` makes it stop, and `before` what decides whether it runs: places in the bytes of the text, and what is put
    there. Whether a function runs is decided elsewhere: its `before` is empty.
    """

    stops: list[tuple[int, str]]
    before: list[tuple[int, str]]
    inside: list[Part] = field(default_factory=list)


def is_slip(
    edit: Mutant, at_fault: Collection[str], is_alike: Callable[[str], bool], passes: Callable[[str], bool]
) -> bool:
    """Whether an edit that makes an answer right undoes a slip of the hand, and does not pick one of many answers.

    `is_alike` tells whether the checks that the answer failed see the same of another text, `passes` whether another
    text passes them. `at_fault` are the lines at which errors ended these. An edit is a guess if it changes random
    numbers, or one of many statements that are alike, or if the edited answer needs what was passed by before.
    """
    page = Page(edit.original)
    tree = ast.parse(page.text)
    if _is_of_chance(page, tree, edit) or _is_row_of_a_table(page, tree, edit):
        return False
    never_ran = Search(page, is_alike)
    dead = never_ran.of(_parts(page, tree, at_fault), lambda part: part.stops, lambda part: part.inside)
    if not dead or passes(_edited(page, edit, dead)):
        return True
    decided = [part for part in dead if part.before]
    unreached = never_ran.of(decided, lambda part: part.before, lambda part: [])
    if never_ran.is_spent:
        return False
    passed_by = [part for part in decided if part not in unreached]
    if any(edit.span[0] < place < edit.span[1] for part in passed_by for place, _ in part.stops):
        return False  # the edit is about it
    return passes(_edited(page, edit, passed_by))


def _edited(page: Page, edit: Mutant, parts: Sequence[Part]) -> str:
    """The edited answer with these parts that stop; what is inside of the edited one, and not beside it, stays."""
    (start, end), longer = edit.span, len(edit.source.encode()) - len(page.bytes)
    stops = [stop for part in parts for stop in part.stops if not start < stop[0] < end]
    return _with_stops(edit.source, [(p if p <= start else p + longer, stop) for p, stop in stops])


class Search:
    """Finds the parts of a program without which the checks see the same: tried together, then by halves."""

    def __init__(self, page: Page, is_alike: Callable[[str], bool]) -> None:
        self.page, self.is_alike, self.runs = page, is_alike, 0

    @property
    def is_spent(self) -> bool:
        """Whether there were too many parts to try them all."""
        return self.runs > MOST_RUNS

    def of(
        self,
        parts: Sequence[Part],
        stops_of: Callable[[Part], list[tuple[int, str]]],
        inside: Callable[[Part], list[Part]],
    ) -> list[Part]:
        """Those that may stop; where a part may not, those `inside` that may."""
        if not parts or self.is_spent:
            return [*parts]
        self.runs += 1
        if self.is_alike(_with_stops(self.page.text, dict.fromkeys(stop for part in parts for stop in stops_of(part)))):
            return [*parts]
        if len(parts) == 1:
            return self.of(inside(parts[0]), stops_of, inside)
        half = len(parts) // 2
        return self.of(parts[:half], stops_of, inside) + self.of(parts[half:], stops_of, inside)


def _with_stops(text: str, stops: Iterable[tuple[int, str]]) -> str:
    """A text with more at some places of its bytes; of two at one place, the later one comes first."""
    written, pieces, last = text.encode(), list[bytes](), 0
    for place, stop in sorted(stops, key=lambda one: one[0]):
        pieces += [written[last:place], stop.encode()]
        last = place
    return b"".join([*pieces, written[last:]]).decode()


# --- the parts of a program -----------------------------------------------------------------------

BLOCKS = ("body", "orelse", "finalbody")
OF_EXPRESSIONS = (ast.IfExp, ast.Lambda, ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)
CALLED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
WHOLE = (ast.Module, ast.ClassDef)  # what runs as soon as it is there


def _parts(page: Page, node: ast.AST, at_fault: Collection[str]) -> list[Part]:
    """The outermost parts below a node."""
    found = []
    for name, value in ast.iter_fields(node):
        if name in BLOCKS and isinstance(value, list):
            found += _parts_of_block(page, node, value, at_fault)
        elif isinstance(node, (ast.Try, ast.TryStar, ast.Match)) and name in ("handlers", "cases"):
            for one in value:
                found += _parts_of_block(page, node, one.body, at_fault)
        elif name == "values" and isinstance(node, ast.BoolOp):
            found += [*_parts(page, value[0], at_fault), *(_expression(page, node, one, at_fault) for one in value[1:])]
        elif name in ("body", "orelse", "elt", "key", "value") and isinstance(node, OF_EXPRESSIONS):
            found.append(_expression(page, node, value, at_fault))
        else:
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    found += _parts(page, child, at_fault)
    return found


def _expression(page: Page, of: ast.expr, node: ast.expr, at_fault: Collection[str]) -> Part:
    before = [] if isinstance(of, CALLED) else _around(page, of)
    return Part(_around(page, node), before, _parts(page, node, at_fault))


def _around(page: Page, node: ast.expr) -> list[tuple[int, str]]:
    start, end = page.span(node)
    return [(start, BEFORE), (end, AFTER)]


def _parts_of_block(page: Page, of: ast.AST, block: Sequence[ast.stmt], at_fault: Collection[str]) -> list[Part]:
    """The block as a part, and what can't be reached in it as others; a module or class has none of its own.

    Nor has a refusal, which holds no other answer: the calls that it is for may come late in a check.
    """
    if len(block) == 1 and isinstance(block[0], ast.Raise):
        return []
    found, begins, decides = [Part([], [])], not isinstance(of, WHOLE), of
    for number, statement in enumerate(block):
        is_text = number == 0 and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if begins and not is_text and (stop := _before(page, statement)):
            found.append(Part([stop], _deciding(page, decides, at_fault)))
            begins = False
        found[-1].inside += _parts(page, statement, at_fault)
        if isinstance(statement, ENDS):
            begins, decides = True, statement
    return [part for one in found for part in ([one] if one.stops else one.inside)]


def _deciding(page: Page, statement: ast.AST, at_fault: Collection[str]) -> list[tuple[int, str]]:
    """What stops before a statement that decides what runs; nothing if an error ended the checks at its first line."""
    if not isinstance(statement, ast.stmt) or isinstance(statement, CALLED):
        return []
    line = page.text.split("\n")[statement.lineno - 1].strip()
    stop = _before(page, statement)
    return [stop] if stop and line not in at_fault else []


def _before(page: Page, statement: ast.stmt) -> tuple[int, str] | None:
    """What makes a program stop before a statement, and where; None before an `elif`, whose parts are its own."""
    decorators = getattr(statement, "decorator_list", [])
    line = min([statement.lineno, *(one.lineno for one in decorators)])
    first = page.starts[line - 1]
    start = page.starts[statement.lineno - 1] + statement.col_offset
    if page.bytes[start : start + 4] == b"elif" and isinstance(statement, ast.If):
        return None
    before = page.bytes[first : first if decorators else start].decode()
    if decorators:
        before = page.bytes[first : page.starts[line]].decode()
        before = before[: len(before) - len(before.lstrip())]
        start = first + len(before)
    return (start, f"{STOP}; ") if before.strip() else (start, f"{STOP}\n{before}")


# --- guesses ----------------------------------------------------------------------------------------


def _holding(page: Page, tree: ast.AST, edit: Mutant) -> Iterator[ast.AST]:
    """The nodes of a program that hold what is edited, from the outermost on."""
    start, end = edit.span
    for node in ast.walk(tree):
        if isinstance(node, (ast.stmt, ast.expr)):
            first, last = page.span(node)
            if first <= start and end <= last:
                yield node


def _is_of_chance(page: Page, tree: ast.AST, edit: Mutant) -> bool:
    """Whether it is in what makes random numbers what they are."""
    around = [node for node in _holding(page, tree, edit) if isinstance(node, ast.Call)]
    start, end = edit.span
    if any(name_called(node) in CHANCE for node in around):
        return True
    within = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and name_called(node) in CHANCE)
    calls = [page.span(node) for node in within]
    return any(start <= first and last <= end and "removed" in edit.kind for first, last in calls)


def _is_row_of_a_table(page: Page, tree: ast.AST, edit: Mutant) -> bool:
    """Whether it is in one of many statements that differ in names and numbers alone."""
    around = list(_holding(page, tree, edit))
    statement = next((node for node in reversed(around) if isinstance(node, ast.stmt)), None)
    functions = [node for node in around if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    if statement is None or not functions or statement in functions:
        return False
    forms = Counter(_form(node) for node in ast.walk(functions[-1]) if isinstance(node, ast.stmt))
    return any(forms[_form(node)] >= TABLE for node in around if isinstance(node, ast.stmt) and node not in functions)


def _form(statement: ast.stmt) -> str:
    """A statement without its names and numbers."""
    return ast.dump(_Bare().visit(copy.deepcopy(statement)))


class _Bare(ast.NodeTransformer):
    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name("", ast.Load())

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return ast.Constant(0)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        return ast.Attribute(self.visit(node.value), "", ast.Load())
