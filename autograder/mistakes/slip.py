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
from dataclasses import dataclass
from typing import NamedTuple

from .edits import Mutant, Page, name_called

STOP = "raise NotImplementedError"
ERROR = "[][0]"  # an expression that stops
INSTEAD = f"({ERROR} or (", "))"  # around an expression: it stops before that is evaluated
AFTERWARDS = "((", f"), {ERROR})"  # and after that
AT_THE_END = "[*(", f"), {ERROR}]"  # and after all of its items
MOST_RUNS = 100  # of the checks, for one answer; a long right one has 60 parts, and what is left counts as never run
# so many alike in one function are a table, and an edit of one picks a row: right answers have 7 statements and 18
# expressions at most
ROWS, ITEMS = 12, 20
CHANCE = {"manual_seed", "seed", "seed_all", "manual_seed_all", "default_rng", "Generator", "RandomState", "Random"}
ENDS = (ast.Return, ast.Raise, ast.Continue, ast.Break)  # what follows them in a block does not run


class Stop(NamedTuple):
    """What makes a program stop: what is put at two places in the bytes of its text."""

    start: int
    before: str
    end: int
    after: str


@dataclass
class Part:
    """A part of a program that runs as a whole or not at all, but for those inside.

    `stop` stops it, and `decision` what decides whether it runs, once that is done: where it ends by an error, nothing
    was decided. It is None for a function, which is decided on elsewhere.
    """

    stop: Stop
    decision: Stop | None
    inside: list[Part]


def is_slip(
    edit: Mutant,
    is_alike: Callable[[str], bool],
    passes: Callable[[str], bool],
    asked: Collection[str] | None = None,
) -> bool:
    """Whether an edit that makes an answer right undoes a slip of the hand, and does not pick one of many answers.

    `is_alike` tells whether the checks that the answer failed see the same of another text, `passes` whether another
    text passes them. An edit is a guess if it changes random numbers, or one of many statements that are alike, or if
    the edited answer needs what was passed by before. If it changes only how a result is given, it needs nothing that
    did not run before, but for other functions that are `asked` for.
    """
    if not is_single(edit):
        return False
    page = Page(edit.original)
    tree = ast.parse(page.text)
    never_ran = Search(page, is_alike)
    dead = never_ran.of(Parts(page).below(tree), lambda part: part.stop)
    if not _is_inside(edit, dead) and passes(_edited(page, edit, dead)):
        return True
    if asked is not None:
        others = [page.span(node) for node in tree.body if isinstance(node, ast.FunctionDef) and node.name in asked]
        others = [(start, end) for start, end in others if not start <= edit.span[0] < end]
        dead = [part for part in dead if not any(start <= part.stop.start < end for start, end in others if part.stop)]
        return not _is_inside(edit, dead) and passes(_edited(page, edit, dead))
    decided = [part for part in dead if part.decision]
    unreached = never_ran.of(decided, lambda part: part.decision, goes_in=False)
    passed_by = [part for part in decided if part not in unreached]
    if never_ran.is_spent or _is_inside(edit, passed_by):
        return False
    return passes(_edited(page, edit, passed_by))


def is_single(edit: Mutant) -> bool:
    """Whether what is edited is neither one of many statements that are alike, nor a random seed."""
    page = Page(edit.original)
    tree = ast.parse(page.text)
    return not (_is_of_chance(page, tree, edit) or _is_row_of_a_table(page, tree, edit))


def _is_inside(edit: Mutant, parts: Sequence[Part]) -> bool:
    """Whether one of these parts is in what is edited: then the edit is about it."""
    start, end = edit.span
    return any(start < place < end for part in parts for place in (part.stop.start, part.stop.end))


def _edited(page: Page, edit: Mutant, parts: Sequence[Part]) -> str:
    """The edited answer with these parts that stop, none of which is inside of what is edited."""
    (start, _), longer = edit.span, len(edit.source.encode()) - len(page.bytes)

    def moved(place: int) -> int:
        return place if place <= start else place + longer

    stops = [part.stop._replace(start=moved(part.stop.start), end=moved(part.stop.end)) for part in parts]
    return with_stops(edit.source, stops)


class Search:
    """Finds the parts of a program without which the checks see the same: tried together, then by halves."""

    def __init__(self, page: Page, is_alike: Callable[[str], bool]) -> None:
        self.page, self.is_alike, self.runs = page, is_alike, 0

    @property
    def is_spent(self) -> bool:
        """Whether there were too many parts to try them all."""
        return self.runs > MOST_RUNS

    def of(self, parts: Sequence[Part], stop_of: Callable[[Part], Stop | None], goes_in: bool = True) -> list[Part]:
        """Those that may stop; where a part may not, and `goes_in`, those inside that may."""
        if not parts or self.is_spent:
            return [*parts]
        self.runs += 1
        if self.is_alike(with_stops(self.page.text, filter(None, map(stop_of, parts)))):
            return [*parts]
        if len(parts) == 1:
            return self.of(parts[0].inside, stop_of) if goes_in else []
        half = len(parts) // 2
        return self.of(parts[:half], stop_of, goes_in) + self.of(parts[half:], stop_of, goes_in)


def with_stops(text: str, stops: Iterable[Stop]) -> str:
    """A text with these stops, each once."""
    put = [
        (place, what) for one in dict.fromkeys(stops) for place, what in ((one.start, one.before), (one.end, one.after))
    ]
    written, pieces, last = text.encode(), list[bytes](), 0
    for place, what in sorted(put, key=lambda one: one[0]):
        pieces += [written[last:place], what.encode()]
        last = place
    return b"".join([*pieces, written[last:]]).decode()


# --- the parts of a program -----------------------------------------------------------------------

BLOCKS = ("body", "orelse", "finalbody")
ALTERNATIVES = ("handlers", "cases")  # each with a block
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)
OF_EXPRESSIONS = (ast.IfExp, ast.Lambda, *COMPREHENSIONS)
WHOLE = (ast.Module, ast.ClassDef)  # what runs as soon as it is there


class Parts:
    """The parts of a program, the text of a page."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def below(self, node: ast.AST) -> list[Part]:
        """The outermost parts below a node."""
        found = []
        for name, value in ast.iter_fields(node):
            decision = self._decision(node, name)
            if name in BLOCKS and isinstance(value, list):
                found += self._of_block(value, decision, begins=not isinstance(node, WHOLE))
            elif name in ALTERNATIVES:
                for one in value:
                    found += self._of_block(one.body, decision)
            elif name in ("values", "comparators") and isinstance(node, (ast.BoolOp, ast.Compare)):
                found += [*self.below(value[0]), *(self._expression(one, decision) for one in value[1:])]
            elif name in ("body", "orelse", "elt", "key", "value") and isinstance(node, OF_EXPRESSIONS):
                found.append(self._expression(value, decision))
            else:
                for child in value if isinstance(value, list) else [value]:
                    if isinstance(child, ast.AST):
                        found += self.below(child)
        return found

    def _expression(self, node: ast.expr, decision: Stop | None) -> Part:
        return Part(self._around(node, INSTEAD), decision, self.below(node))

    def _around(self, node: ast.expr, how: tuple[str, str]) -> Stop:
        (start, end), (before, after) = self.page.span(node), how
        return Stop(start, before, end, after)

    def _of_block(self, block: Sequence[ast.stmt], decision: Stop | None, begins: bool = True) -> list[Part]:
        """The block as a part, if it `begins` one, and what can't be reached in it as others.

        A refusal is none: it holds no other answer, and the calls that it is for may come late in a check.
        """
        if len(block) == 1 and isinstance(block[0], ast.Raise):
            return []
        found, part = list[Part](), None
        for number, statement in enumerate(block):
            is_text = number == 0 and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
            if begins and not is_text and not self._is_elif(statement):  # whose parts are its own
                part, begins = Part(self._before(statement), decision, []), False
                found.append(part)
            inside = found if part is None else part.inside
            inside += self.below(statement)
            if isinstance(statement, ENDS):
                begins, decision = True, self._decision(statement, "")
        return found

    def _is_elif(self, node: ast.stmt) -> bool:
        start = self.page.span(node)[0]
        return isinstance(node, ast.If) and self.page.bytes[start : start + 4] == b"elif"

    def _decision(self, node: ast.AST, field: str) -> Stop | None:
        """What stops once it is decided whether this part of a node runs."""
        if isinstance(node, (ast.If, ast.While, ast.IfExp)):
            return self._around(node.test, AFTERWARDS)
        if isinstance(node, (ast.For, ast.AsyncFor)):
            return self._around(node.iter, AT_THE_END)
        if isinstance(node, COMPREHENSIONS):
            return self._around(node.generators[0].iter, AT_THE_END)
        if isinstance(node, ast.BoolOp):
            return self._around(node.values[0], AFTERWARDS)
        if isinstance(node, ast.Compare):  # in `a < b < c`
            return self._around(node.comparators[0], AFTERWARDS)
        if isinstance(node, ast.Match):
            return self._around(node.subject, AFTERWARDS)
        if isinstance(node, ast.Return) and node.value:
            return self._around(node.value, AFTERWARDS)
        if isinstance(node, ENDS) or (isinstance(node, (ast.Try, ast.TryStar)) and field != "body"):
            return self._before(node)
        return None

    def _before(self, statement: ast.stmt) -> Stop:
        """What makes a program stop before a statement."""
        page, decorators = self.page, getattr(statement, "decorator_list", [])
        line = min([statement.lineno, *(one.lineno for one in decorators)])
        first, start = page.starts[line - 1], page.span(statement)[0]
        before = page.bytes[first:start].decode()
        if decorators:
            before = before[: len(before) - len(before.lstrip())]
            start = first + len(before)
        return Stop(start, f"{STOP}; " if before.strip() else f"{STOP}\n{before}", start, "")


# --- guesses ----------------------------------------------------------------------------------------


def _holding(page: Page, tree: ast.AST, edit: Mutant) -> Iterator[ast.stmt | ast.expr]:
    """The nodes of a program that hold what is edited, from the outermost on."""
    start, end = edit.span
    for node in ast.walk(tree):
        if isinstance(node, (ast.stmt, ast.expr)):
            first, last = page.span(node)
            if first <= start and end <= last:
                yield node


def _is_of_chance(page: Page, tree: ast.AST, edit: Mutant) -> bool:
    """Whether it changes, or removes, a call that makes random numbers what they are."""
    start, end = edit.span
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and name_called(node) in CHANCE:
            first, last = page.span(node)
            is_removed = start <= first and last <= end and "removed" in edit.kind
            if is_removed or (first <= start and end <= last):
                return True
    return False


def _is_row_of_a_table(page: Page, tree: ast.AST, edit: Mutant) -> bool:
    """Whether it is in one of many statements or expressions that differ in names and numbers alone."""
    around = list(_holding(page, tree, edit))
    functions = [node for node in around if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    if not functions:
        return False
    below = around[around.index(functions[-1]) + 1 :]
    inside = [node for node in below if _says_something(node)]
    edited = [one for node in below[-1:] if page.span(node) == edit.span for one in ast.walk(node)]
    if any(len(items) >= ITEMS for node in [*below, *edited] for items in _lists(node)):
        return True
    forms = Counter(_form(node) for node in ast.walk(functions[-1]) if _says_something(node))
    return any(forms[_form(node)] >= (ROWS if isinstance(node, ast.stmt) else ITEMS) for node in inside)


def _lists(node: ast.AST) -> Iterator[list[ast.AST]]:
    """The lists of expressions in a node: items, arguments, operands."""
    for _, value in ast.iter_fields(node):
        if isinstance(value, list) and value and all(isinstance(one, (ast.expr, ast.arg)) for one in value):
            yield value


def _says_something(node: ast.AST) -> bool:
    """Whether it is a statement, or an expression of more than a name or a number, such as are in every line."""
    if isinstance(node, ast.UnaryOp):
        return _says_something(node.operand)
    if isinstance(node, ast.Attribute):
        return _says_something(node.value)
    is_bare = isinstance(node, (ast.Name, ast.Constant, ast.Slice, ast.Tuple, ast.List))
    return isinstance(node, (ast.stmt, ast.expr)) and not is_bare


def _form(node: ast.AST) -> str:
    """A statement or an expression without its names and numbers."""
    return ast.dump(_Bare().visit(copy.deepcopy(node)))


class _Bare(ast.NodeTransformer):
    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name("", ast.Load())

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return ast.Constant(0)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        return ast.Attribute(self.visit(node.value), "", ast.Load())
