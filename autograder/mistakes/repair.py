"""Finds one small edit that makes a wrong answer right: then all else in it is right, and the line is certain.

The edits are those that a slip of the hand may have made (edits.py) and those that undo one. Nothing is taken from a
right answer but the keywords and the methods that it calls: who gets points here has written the rest. How many edits
are tried depends on the text alone, so that a grade does not depend on the machine.
"""

from __future__ import annotations

import ast
import difflib
import functools
import itertools
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from .. import course
from ..checks.source_text import names_under
from ..verdict import NOT_TRIED, PLACE, Diagnosis
from . import own_softmax, prices, undoing
from .bank import bank, right_answer, styles_of
from .edits import MODULES, Context, Edit, EditsOf, Mutant, Page, edits_in, made, name_called, slips
from .prices import ALL, COSTS
from .student_line import LONGEST
from .text import NEW_LINE

if TYPE_CHECKING:
    from ..checks.runner import ExerciseRun
    from ..verdict import Check

ID = f"{PLACE}one-change"
SAYS = "All else is right: {}, this passes every check."
REGION = f"{PLACE}one-of-several-changes"
SEVERAL = (
    "The mistake is {}. Changes in different places there pass every check, so it is not certain which one you need."
)
OTHER_NAMES = "The checks look for other names than yours: {}, they go on to what else is wrong."
CHANGES = {  # what an edit changes in the line, by its kind; if a part of it shows that, this is named
    "constant": "with another number in this line",
    "true, false": "with `True` and `False` swapped in this line",
    "pattern": "with another pattern in this line",
    "operator": "with another operator in this line",
    "comparison": "with another comparison in this line",
    "and, or": "with `and` and `or` swapped in this line",
    "function": "with another function in this line",
    "other name": "with another variable in this line",
    "operands swapped": "with two operands of this line the other way round",
    "arguments swapped": "with two arguments of this line the other way round",
    "argument removed": "without one of the arguments in this line",
    "argument added": "with one more argument in this line",
    "operand removed": "without one of the operands in this line",
    "call removed": "without one of the calls in this line",
    "call added": "with one more call in this line",
    "transpose removed": "without the transpose in this line",
    "transpose added": "with one more transpose in this line",
    "index removed": "without the index in this line",
    "minus removed": "without the minus in this line",
    "minus added": "with a minus in this line",
    "not removed": "without the `not` or `~` in this line",
    "not added": "with a `~` in this line",
    "condition removed": "without the condition in this line",
    "loop or block removed": "without the loop or block that begins in this line",
    "refusal removed": "without the refusal that begins in this line",
    "statement removed": "without this line",
}
ADDED = "argument added"
ORDER, PART = "results swapped", "part of a result"
RETURNED = "what this line returns"
FORMS = {  # the same for an edit of what is returned, none of which changes what is computed
    ORDER: f"with the parts of {RETURNED} the other way round",
    "truth of a result": f"with `bool(…)` of {RETURNED}",
    PART: f"with one part alone of {RETURNED}",
    "result squeezed": f"without a dimension of size 1 in {RETURNED}",
    "result unsqueezed": f"with one more dimension, of size 1, in {RETURNED}",
    "result transposed": f"with two dimensions exchanged in {RETURNED}",
    "result as a list": f"with `list(…)` of {RETURNED}",
}
CHANGES |= FORMS | undoing.CHANGES
OF_FORM = re.compile(
    r"should be|should return|The shape of|came back|[Pp]arts?\b|'tuple' object|not tuple\b"
)  # in a reason: something has another form
DIMENSIONS = range(4)  # of which one may be too much in a result
EXCHANGED = ((1, 2), (2, 3), (0, 1))  # dimensions that may be exchanged in a result
NAMES = "names"  # the kind of an edit that gives attributes their right names, everywhere
MOST, MOST_ELSEWHERE = 250, 80  # edits tried, and after one that passes, for another one elsewhere
MOST_UNDONE = 60  # of the first, those that undo a slip that hides all else
MOST_TEXT = 20_000  # characters of a cell that is edited: each edit copies all of it; a right one has 8,000
MOST_LINES, MOST_NAMES, MOST_PLACES = 20, 12, 4  # at fault, in reach, and in a call, for one more argument
SLOW = 2  # edits that never end, or end the process: after one more, no others are tried
EACH, EVERY = 2.0, 30.0  # seconds that a call or a cell may take, and those of all edits together
NEVER_RAN = COSTS["stops"]  # the price of an answer that stops with an error at every turn: nobody has called it once
LATER = {"removed": 1, "added": 2}  # the last words of kinds of edits: what was too much, and what is missing
NUMBERS = range(-2, 4)  # such as dimensions
TRANSPOSED = ("T", "mT")
OF_TENSORS = {"call added", "transpose added", "minus added", "not added"}  # no name or size of a parameter comes so
OF_BUILT = {"built", "parameters"}  # what a transcript says of a module that has not been called
LACKS = re.compile(r"Your `[^`]*` has no parameter|The parameter `")  # how the kit's errors about weights begin
MISSING = re.compile(
    r"^Your `[^`]*` has no (?:parameters?|attribute) (`[\w.]+`(?:, `[\w.]+`)*)"
)  # as these errors go on
OF_ARGUMENTS = {"TypeError", "ValueError"}  # errors of calls that lack an argument
NOT_DEFINED = re.compile(r"name '(\w+)' is not defined")  # of a NameError
MOST_RENAMED, LONGEST_NAME = 4, 40  # names that are missing, and characters of one
READ_NAMES = {"vars", "dir", "locals", "getattr", "setattr", "hasattr", "delattr", "__dict__", "__getattr__", "inspect"}
READ_NAMES |= {"__getattribute__", "__setattr__", "_parameters", "_modules", "_buffers", "add_module", "state_dict"}
READ_NAMES |= {"register_parameter", "register_module", "named_parameters", "named_children", "named_modules", "sys"}
READ_NAMES |= {"attrgetter", "methodcaller", "exec", "eval", "globals", "__slots__", "co_names", "traceback", "dis"}
CERTAIN = 0.05  # how much more alike than others names are that are certainly meant: 1 is the same name
INFINITIES = {"torch.inf", "math.inf"}


Use: TypeAlias = tuple[ast.Attribute | ast.FunctionDef, str, bool]  # where a name is, and whether it is defined there


@dataclass(frozen=True)
class Material:
    """What an edit may add: keywords of functions and calls of methods, all with constants alone."""

    keywords: dict[str, list[ast.keyword]]
    methods: list[ast.Call | ast.Attribute]

    def additions(self, node: ast.AST, context: Context) -> Iterator[tuple[str, ast.AST]]:
        """What may stand in a node's place, beside slips: a small number, or the same with something added."""
        if isinstance(node, ast.Constant) and type(node.value) is int:
            yield from (("constant", ast.Constant(number)) for number in NUMBERS if number != node.value)
        if isinstance(node, ast.Call):
            given = {keyword.arg for keyword in node.keywords}
            for keyword in self.keywords.get(name_called(node), ()):
                if keyword.arg not in given:
                    yield ADDED, ast.Call(node.func, node.args, [*node.keywords, keyword])
        if not isinstance(node, ast.expr) or not _has_a_value(node, context):
            return
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            yield "operator", ast.BinOp(node.left, ast.MatMult(), node.right)
        if isinstance(node, (ast.Name, ast.Call, ast.Compare)):
            yield "minus added", ast.UnaryOp(ast.USub(), node)
            yield "not added", ast.UnaryOp(ast.Invert(), node)
        for method in self.methods:
            if isinstance(method, ast.Attribute):
                yield "transpose added", ast.Attribute(node, method.attr, ast.Load())
            elif isinstance(method.func, ast.Attribute):
                called = ast.Attribute(node, method.func.attr, ast.Load())
                yield "call added", ast.Call(called, method.args, method.keywords)


def tries(text: str, run: ExerciseRun, is_alike: Callable[[str], bool], says_little: bool = False) -> Iterator[Mutant]:
    """The edits of an answer that are tried: first what undoes a slip that hides all else (undoing.py).

    If it `says_little`, these are all. Then come those of lines at which errors ended its checks, with any names. Those
    that put something else in a place come before those that leave something out or add it, and of them those that are
    near to such a line. Where the check to pass first ends before any call, what only a call shows stays.
    `is_alike` tells whether that check sees the same of another text.
    """
    if len(text) > MOST_TEXT:
        return
    at_fault = {place.code.strip() for place in run.places.values()}
    try:
        tree = ast.parse(text)
        lines = [number for number, line in enumerate(_lines(text), start=1) if line in at_fault][:MOST_LINES]
        first = sorted(edits_in(tree, undoing.undone(tree)), key=lambda edit: edit.kind == undoing.ARGUMENT)
        missing = {found[1] for one in run.errors.values() if (found := NOT_DEFINED.match(one.message))}
        names = [*renamed(text, run), *undoing.kept(text), *undoing.meant(text, missing)]
        may_lack = any(one.type in OF_ARGUMENTS for one in run.errors.values())
        more = [_with_names_at(lines, tree)] if may_lack else []
        kinds = () if says_little else (slips, material(run.exercise).additions, *more)
        every = [edit for edits_of in kinds for edit in edits_in(tree, edits_of)]
        calls = _bodies_of_calls(tree) if _ends_before_a_call(run) else []
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    if calls and is_alike(_stopping_in(text, calls)):
        unseen = set(itertools.chain.from_iterable(calls))
        every = [edit for edit in every if edit.line not in unseen and edit.kind not in OF_TENSORS]

    def rank(edit: Edit) -> tuple[bool, int, int]:
        far = min((abs(edit.line - line) for line in lines), default=1)
        return far > 0 and edit.kind != ORDER, LATER.get(edit.kind.split()[-1], 0), far

    is_of_form = not says_little and any(OF_FORM.search(check.reason) for check in tried(run)[:1])
    forms = edits_in(tree, _forms_of_results) if is_of_form else ()
    edits = itertools.chain(names, made(text, itertools.chain(first[:MOST_UNDONE], forms, sorted(every, key=rank))))
    yield from itertools.islice(edits, MOST)


def elsewhere(edit: Mutant, edits: Iterable[Mutant]) -> Iterator[Mutant]:
    """Those of the next edits that change nothing of what this one does; none beside an edit of a form or of names."""
    if edit.kind in FORMS or edit.kind == NAMES:
        return
    for other in itertools.islice(edits, MOST_ELSEWHERE):
        if other.kind not in FORMS and (other.span[1] <= edit.span[0] or edit.span[1] <= other.span[0]):
            yield other


def several(found: Sequence[Diagnosis], edits: Sequence[Mutant], text: str) -> list[Diagnosis]:
    """What was `found` of an answer that edits in unlike places make right: where all of these are, if it has no name.

    None of them is the mistake, so none has a price.
    """
    if any(not one.is_place for one in found):
        return [*found]
    first, *_, last = sorted(edit.line for edit in edits)
    apart = last - first
    where = f"in this line or up to {apart} line{'s' * (apart > 1)} below it" if apart else "in this line"
    return [Diagnosis(REGION, SEVERAL.format(where), _lines(text)[first - 1][:LONGEST])]


def _forms_of_results(node: ast.AST, context: Context) -> Iterator[tuple[str, ast.AST]]:
    """What may stand in the place of what a function returns, or of one of several parts: the same in another form."""
    around = context.outer.parent if context.outer and isinstance(context.parent, ast.Tuple) else context.parent
    if not isinstance(node, ast.expr) or not isinstance(around, ast.Return):
        return
    if isinstance(node, ast.Tuple):
        parts = [part for part in node.elts if not isinstance(part, ast.Constant)]
        if len(parts) == 1:  # of more, each could be a guess
            yield PART, parts[0]
        return

    def called(method: str, *numbers: int) -> ast.Call:
        return ast.Call(ast.Attribute(node, method, ast.Load()), [ast.Constant(number) for number in numbers], [])

    yield "truth of a result", ast.Call(ast.Name("bool", ast.Load()), [node], [])
    yield "result as a list", ast.Call(ast.Name("list", ast.Load()), [node], [])
    yield "result unsqueezed", ast.Subscript(node, ast.Constant(None), ast.Load())
    yield from (("result squeezed", called("squeeze", number)) for number in DIMENSIONS)
    yield from (("result transposed", called("transpose", *pair)) for pair in EXCHANGED)


def missing_names(run: ExerciseRun) -> list[str]:
    """The attributes that the checks of an answer miss in its objects."""
    found = [MISSING.match(check.reason.removeprefix(NOT_TRIED)) for check in tried(run)]
    paths = [path for match in found if match for path in re.findall(r"`([\w.]+)`", match[1])]
    return list(dict.fromkeys(path.split(".")[0] for path in paths))


def renamed(text: str, run: ExerciseRun, is_certain: bool = False) -> list[Mutant]:
    """The answer with the names that its checks miss, in place of those that nobody asked for: the most alike first.

    There may be several, since nobody knows which of its names were meant; none if `is_certain` and some are as much
    alike.
    """
    try:
        tree = ast.parse(text if len(text) <= MOST_TEXT else "")
        if READ_NAMES & set(re.findall(r"\w+", text)):  # such code may do something else under another name
            return []
        uses = list(_uses_of_own_names(tree))
        choices = _meant(uses, _made_by_calls(tree), missing_names(run), run.exercise)
        if is_certain and len(choices) > 1 and choices[0][0] - choices[1][0] < CERTAIN:
            return []
        return [_with_names(Page(text), uses, instead) for _, instead in choices[: 1 if is_certain else None]]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


def _made_by_calls(tree: ast.Module) -> set[str]:
    """The attributes that calls have made, as they make layers and parameters."""
    made = (node for node in ast.walk(tree) if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call))
    return {target.attr for node in made for target in node.targets if isinstance(target, ast.Attribute)}


def _meant(
    uses: Sequence[Use], made: set[str], missing: Sequence[str], exercise: str
) -> list[tuple[float, dict[str, str]]]:
    """Which names may be meant by names of an answer's own: how much they are alike, and {own name: that one}.

    These are names of methods, and of attributes that calls have made. Only as many as are missing are looked at, those
    that are most alike: of more, each could hold a guess.
    """
    defined = {name: node for node, name, is_defined in uses if is_defined and len(name) <= LONGEST_NAME}
    own = {name for name, node in defined.items() if name in made or isinstance(node, ast.FunctionDef)}
    right = {name for _, name, _ in _uses_of_own_names(ast.parse(right_answer(exercise)))}
    others = sorted(own - right)
    if (
        not 0 < len(missing) <= min(MOST_RENAMED, len(others))
        or defined.keys() & set(missing)
        or not right.issuperset(missing)
    ):
        return []
    alike = {(one, other): difflib.SequenceMatcher(None, one, other).ratio() for one in missing for other in others}
    likest = sorted(others, key=lambda other: -max(alike[one, other] for one in missing))[: len(missing)]
    pairs = [list(zip(missing, names, strict=True)) for names in itertools.permutations(likest)]
    scored = [(sum(alike[pair] for pair in each), {other: one for one, other in each}) for each in pairs]
    return sorted(scored, key=lambda choice: -choice[0])


def _with_names(page: Page, uses: Sequence[Use], instead: Mapping[str, str]) -> Mutant:
    """A program with other names of attributes and methods. Raises ValueError."""
    places = sorted((_place_of_name(page, node, name), name) for node, name, _ in uses if name in instead)
    pieces, end = [], 0
    for start, name in places:
        pieces += [page.bytes[end:start], instead[name].encode()]
        end = start + len(name.encode())
    source = b"".join([*pieces, page.bytes[end:]]).decode()
    first = min((node for node, name, _ in uses if name in instead), key=lambda node: node.lineno)
    says = " and ".join(f"`{new}` for `{old}`" for old, new in instead.items())
    return Mutant(
        NAMES, source, page.text, first.lineno, f"the name{'s' * (len(instead) > 1)} {says}", page.span(first)
    )


def _place_of_name(page: Page, node: ast.Attribute | ast.FunctionDef, name: str) -> int:
    """The byte at which the name in `self.name` or `def name` begins. Raises ValueError if it is written otherwise."""
    start, end = page.span(node)
    if isinstance(node, ast.FunctionDef):
        return page.bytes.index(name.encode(), start + len("def"))
    if page.bytes[start:end].endswith(f".{name}".encode()):
        return end - len(name.encode())
    raise ValueError(f"{name} is written otherwise")


def _uses_of_own_names(tree: ast.Module) -> Iterator[Use]:
    """Where names of attributes and methods stand, `self.name` and `def name`, and whether they are defined there."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
            yield node, node.attr, isinstance(node.ctx, ast.Store)
        elif isinstance(node, ast.ClassDef):
            yield from ((method, method.name, True) for method in node.body if isinstance(method, ast.FunctionDef))


def _ends_before_a_call(run: ExerciseRun) -> bool:
    """Whether the check by which edits are tried first saw no more of the answer than its parameters."""
    names = [check.name for check in tried(run)[:1]]
    seen = [entry for name in names if name in run.transcripts for entry in run.transcripts[name].entries]
    return bool(seen) and all(map(_is_of_parameters, seen))


def _is_of_parameters(entry: tuple[Any, ...]) -> bool:
    """Whether an entry of a transcript is about a module that was built, or about weights that found no place in it."""
    kind, *what = entry
    return kind in OF_BUILT or (kind == "error" and LACKS.match(str(what[-1])) is not None)


def _bodies_of_calls(tree: ast.Module) -> list[range]:
    """The lines of those functions that seem to run when a module is called, and not when it is built.

    They are those of `forward`, and of what this alone names. A function that is named anywhere else may run at any
    time; so may `forward`, if a module is called while another one is built.
    """
    functions = defaultdict[str, list[ast.FunctionDef]](list)
    elsewhere = set[str]()  # names outside functions
    for node in _statements(tree):
        if isinstance(node, ast.FunctionDef):
            functions[node.name].append(node)
        elif not isinstance(node, ast.ClassDef):
            elsewhere |= _named_in(node)
    names = {name: set[str]().union(*map(_named_in, nodes)) for name, nodes in functions.items()}
    calls, new = set[str](), {"forward"} & names.keys()
    while new:
        calls |= new
        new = {name for called in new for name in names[called] & names.keys() if not name.startswith("__")} - calls
    while calls & (others := elsewhere.union(*(names[name] for name in names.keys() - calls))):
        calls -= others
    nodes = [node for name in calls for node in functions[name] if node.body[0].lineno > node.lineno]
    return sorted((range(node.body[0].lineno, (node.end_lineno or 0) + 1) for node in nodes), key=lambda body: body[0])


def _stopping_in(text: str, bodies: Sequence[range]) -> str:
    """The text of a program with nothing but an error in these bodies of functions."""
    lines = Page(text).text.split("\n")
    for body in reversed(bodies):
        first = lines[body[0] - 1]
        indent = first[: len(first) - len(first.lstrip())]
        lines[body.start - 1 : body.stop - 1] = [f"{indent}raise NotImplementedError"]
    return "\n".join(lines)


def _statements(tree: ast.Module) -> Iterator[ast.stmt]:
    """The statements of a program and of its classes, not those of functions."""
    waiting: list[ast.stmt] = [*tree.body]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, ast.ClassDef):
            waiting.extend(node.body)


def _named_in(node: ast.AST) -> set[str]:
    """The names and attributes in a part of a program."""
    return names_under(node) | {part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute)}


def _with_names_at(lines: Sequence[int], tree: ast.Module) -> EditsOf:
    """The edits of these lines that pass one more argument: a name of the functions around them."""
    around = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and any(node.lineno <= line <= (node.end_lineno or 0) for line in lines)
    ]
    bound = [pair for function in around for pair in _own_names(function)]
    near = sorted(bound, key=lambda pair: min((abs(pair[0] - line) for line in lines), default=0))
    names = list(dict.fromkeys(name for _, name in near))[:MOST_NAMES]

    def edits(node: ast.AST, context: Context) -> Iterator[tuple[str, ast.AST]]:
        if isinstance(node, ast.Call) and node.lineno in lines:
            for place, name in itertools.product(range(min(len(node.args) + 1, MOST_PLACES)), names):
                args = [*node.args[:place], ast.Name(name, ast.Load()), *node.args[place:]]
                yield ADDED, ast.Call(node.func, args, node.keywords)

    return edits


def _own_names(function: ast.FunctionDef) -> Iterator[tuple[int, str]]:
    """The names that a function takes and assigns, each with the number of its line."""
    yield from ((one.lineno, one.arg) for one in function.args.args if one.arg != "self")
    names = (node for node in ast.walk(function) if isinstance(node, ast.Name))
    yield from ((name.lineno, name.id) for name in names if isinstance(name.ctx, ast.Store))


@functools.lru_cache(maxsize=1)
def _lines(text: str) -> list[str]:
    return [line.strip() for line in NEW_LINE.split(text)]


def is_wanted(run: ExerciseRun, found: Sequence[Diagnosis]) -> bool:
    """Whether an edit is looked for: where trying one takes next to nothing, and the price of the answer is not known.

    That of a named mistake is not where it hides the rest, or more is wrong than it. But some mistakes cost all,
    whatever fixes them, and what depends on a wrong answer is not right by an edit of its own.
    """
    if run.is_decided or any(one.base for one in found):
        return False
    if not tried(run) or not getattr(course.module_of(run.exercise, "checks"), "TRIES_EDITS", True):
        return False
    named = [one for one in found if one.is_name]
    return not any(one.has_price or _costs_all(run.exercise, one.id) for one in named)


def _costs_all(exercise: str, id: str) -> bool:
    """Whether the author of a mistake says that it costs all, or it is a whole answer, such as a released original."""
    known = bank("softmax") if id.startswith(own_softmax.PREFIX) else bank(exercise)
    mistake = known.get(id.removeprefix(own_softmax.PREFIX))
    return mistake is not None and (mistake.price == ALL or mistake.edits is None)


def has_run(run: ExerciseRun) -> bool:
    """Whether the answer ever came further than to an error."""
    return any(check.passed for check in run.judged()) or any(one.name not in run.places for one in tried(run))


def undoes_the_error(run: ExerciseRun, edit: Mutant) -> bool:
    """Whether errors ended all checks that an answer failed, and an edit undoes a slip that stops it.

    An argument that is added in the line of the errors is one, too.
    """
    places = [run.places.get(check.name) for check in tried(run)]
    line = _lines(edit.original)[edit.line - 1]
    if edit.kind == ADDED:
        return all(place is not None and place.code.strip() == line for place in places)
    return edit.kind in undoing.CHANGES and None not in places


def tried(run: ExerciseRun) -> list[Check]:
    """The checks that an answer failed, and that were tried: an edit has to pass the first one first."""
    failed = {check.name: check for check in run.rejected()}
    return [failed[name] for name in prices.tried({name: check.reason for name, check in failed.items()})]


def priced(run: ExerciseRun, found: Sequence[Diagnosis], edit: Mutant, text: str) -> list[Diagnosis]:
    """What was `found` of an answer, a `text` that an edit makes right: with its line, and at what the edit costs.

    A name or a fact says more than that there is an edit, and is certain as well: it keeps its sentence.
    """
    price = prices.dearest(check.category for check in tried(run)) if has_run(run) else NEVER_RAN
    if edit.kind == NAMES:  # what else was found took what has another name for what is not there
        return [names_given(edit, text, SAYS)]
    change, what = CHANGES[edit.kind], RETURNED if edit.kind in FORMS else "this line"
    if edit.part:
        change = change.replace(what, f"`{edit.part}`")
    names = [one for one in found if not one.is_place and (edit.kind == ORDER or edit.kind not in FORMS)]
    first = next(iter(names), Diagnosis(ID, SAYS.format(change)))
    line = first.line or _lines(text)[edit.line - 1][:LONGEST]
    return [replace(first, line=line, price=price)]


def names_given(edit: Mutant, text: str, says: str) -> Diagnosis:
    """What to say of an answer to which an edit gives the names that the checks look for."""
    line = _lines(text)[edit.line - 1][:LONGEST]
    return Diagnosis(ID, says.format(f"with {edit.part}"), line, COSTS["name"])


@functools.cache
def material(exercise: str) -> Material:
    """The keywords and methods of the right answers to an exercise."""
    keywords: defaultdict[str, dict[str, ast.keyword]] = defaultdict(dict)
    methods: dict[str, ast.Call | ast.Attribute] = {}
    for text in (right_answer(exercise), *(right_answer(exercise, style) for style in styles_of(exercise))):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Attribute) and node.attr in TRANSPOSED:
                methods[node.attr] = node
            if isinstance(node, ast.Call):
                constant = [keyword for keyword in node.keywords if _is_constant(keyword.value)]
                keywords[name_called(node)] |= {ast.unparse(one): one for one in constant if one.arg}
                if _is_of_constants(node):
                    methods[ast.unparse(ast.Call(ast.Name(name_called(node)), node.args, node.keywords))] = node
    return Material({name: list(found.values()) for name, found in keywords.items()}, list(methods.values()))


def _is_of_constants(node: ast.Call) -> bool:
    """Whether it calls a method of some value, with constants alone."""
    if not isinstance(node.func, ast.Attribute):
        return False
    of = ast.unparse(node.func.value)
    if of.split(".")[-1] in MODULES or of.startswith(("self.", "super(")) and of.count(".") == 1:
        return False
    return all(_is_constant(one) for one in (*node.args, *(keyword.value for keyword in node.keywords)))


def _is_constant(node: ast.expr) -> bool:
    """Whether it is a number, a text or so, perhaps with a minus, or a tuple of these: nothing has a name in it."""
    if isinstance(node, ast.UnaryOp):
        return _is_constant(node.operand)
    if isinstance(node, ast.Tuple):
        return all(map(_is_constant, node.elts))
    return isinstance(node, ast.Constant) or ast.unparse(node) in INFINITIES


def _has_a_value(node: ast.expr, context: Context) -> bool:
    """Whether it is read, and neither what is called nor part of a longer chain of attributes and calls."""
    if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load) or isinstance(context.parent, ast.Attribute):
        return False
    return context.field != "func" and isinstance(node, (ast.Name, ast.Call, ast.Attribute, ast.Subscript, ast.BinOp))
