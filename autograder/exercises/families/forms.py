"""Other forms of what a bank has for filled scores, made from its texts: a mask that is added as numbers.

`scores.masked_fill(hidden, c)` has the form `scores + hidden * c`, as BERT has it, in the dtype of the scores or in
float32. With a finite number it is the mistake of filling with that number, with -inf there is NaN.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator
from typing import NamedTuple

from ...errors import CourseError
from ...mistakes.bank import Bank, BankError, Mistake
from ...mistakes.prices import PRICES
from ...mistakes.signs import divides_power, multiplies_infinity
from .wordings import says

ZERO = "zero-times-infinity"
HALF = 65504.0  # the largest number of float16
UNBRACKETED, CHUNK = "exponent-without-brackets", "mask-of-the-new-tokens"
IN_MASK = "mask-of-zero-times-infinity"
TEN_THOUSAND, NUMBER = "-1e4", "-1e9"  # such as are added, the second where float16 is not thought of
OWN, AS_IT_IS = "({hidden}).type_as({scores}) * {number}", "({hidden}) * {number}"
BIAS = "torch.where({hidden}, {number}, 0.0).type_as({scores})"
INFINITE = ('float("-inf")', "float('-inf')", "-torch.inf", "-float('inf')", "-math.inf")


class Fill(NamedTuple):
    """A call in a text that fills `scores` with a `number` where they are `hidden`, and its `text`."""

    text: str
    scores: str
    hidden: str
    number: str

    def added(self, form: str, number: str = "") -> str:
        """The same by a sum, in a form."""
        product = form.format(hidden=self.hidden, scores=self.scores, number=number or self.number)
        return f"({self.scores} + {product})"


def add_to(bank: Bank, scored: str = "scores") -> None:
    """Add to a bank the forms of its mistakes that fill with a finite number, and `zero-times-infinity` if it lacks it.

    What is filled is called `scored`. Raises CourseError if the right answer fills nothing with -inf.
    """
    right = [fill for fill in fills(bank.right) if fill.number in INFINITE]
    if not right:
        raise CourseError(f"{bank.exercise}: its answer fills nothing with -inf")
    multiplied = [bank.right.replace(right[0].text, right[0].added(form)) for form in (AS_IT_IS, OWN)]
    if ZERO not in bank:
        edits = edits_between(bank.right, multiplied[0])
        bank.mistake(ZERO, says(ZERO, SCORED=scored), edits, sign=multiplies_infinity)
    known = {_plain(mistake.source) for mistake in (*bank.values(), *bank.variants)}
    for made in multiplied:
        if _plain(made) not in known:
            bank.variant(ZERO, edits_between(bank.right, made))
    for mistake in [*bank.values()]:
        for fill in _finite(bank, mistake):
            for new, number in _added(fill):
                made = edits_between(bank.right, mistake.source.replace(fill.text, new))
                bank.variant(mistake.id, made, number=number)


def add_to_mask(bank: Bank, inside: str = "minus-infinity-inside") -> None:
    """Add to the bank of a mask the forms of its mistake `inside`, a mask of numbers that are added to scores.

    Its text fills zeros with -inf. Raises CourseError if it does not.
    """
    found = [fill for fill in fills(bank[inside].source) if fill.number in INFINITE]
    if not found:
        raise CourseError(f"{bank.exercise}: {inside} fills nothing with -inf")
    fill, text = found[0], bank[inside].source
    product = text.replace(fill.text, AS_IT_IS.format(hidden=fill.hidden, number=fill.number))
    bank.mistake(IN_MASK, says(IN_MASK), edits_between(bank.right, product), sign=multiplies_infinity)
    for number in (TEN_THOUSAND, NUMBER):
        made = text.replace(fill.text, fill.text.replace(fill.number, number))
        bank.variant(inside, edits_between(bank.right, made), number=number)


def add_powers(bank: Bank, place: str, numbers: str, width: str) -> None:
    """Add to a bank what `base ** (-numbers / width)`, at this `place`, becomes without brackets around the exponent.

    `numbers` are the text of 0, 2, 4, …; a student may also begin with 0, 1, 2, …, or with 1 / base.
    """
    once = f"({numbers} / 2)"
    powers = [f"base**-{numbers} / {width}", f"1 / (base**{numbers} / {width})"]
    powers += [f"base**-{once} / ({width} / 2)", f"1 / (base**{once} / ({width} / 2))"]
    powers += [f"base**-2 * {once} / {width}", f"base**-1 * {numbers} / {width}"]
    edits = {bank.places[place]: f"({powers[0]})"}
    bank.mistake(UNBRACKETED, says(UNBRACKETED, WIDTH=width), edits, sign=divides_power, price=PRICES["values"])
    for power in powers[1:]:
        bank.variant(UNBRACKETED, {bank.places[place]: f"({power})"})


def add_chunk(bank: Bank) -> None:
    """Add to a bank a causal mask of a chunk that leaves out the keys of the cache: of the new tokens alone.

    Raises CourseError if the right answer makes no `torch.ones(t, s, …).tril(…)`.
    """
    for node in ast.walk(ast.parse(bank.right)):
        ones = _called(node, "tril")
        if isinstance(ones, ast.Call) and _called(ones, "ones") and len(ones.args) > 1:
            square = ast.Call(ones.func, [ones.args[0], ones.args[0], *ones.args[2:]], ones.keywords)
            made = bank.right.replace(ast.get_source_segment(bank.right, node) or "", f"{ast.unparse(square)}.tril()")
            bank.mistake(CHUNK, says(CHUNK), edits_between(bank.right, made))
            for fill in fills(bank.right):
                bank.variant(CHUNK, edits_between(bank.right, made.replace(fill.text, fill.added(BIAS))))
            return
    raise CourseError(f"{bank.exercise}: its answer makes no `torch.ones(t, s).tril(…)`")


def _called(node: ast.AST, method: str) -> ast.expr | None:
    """What has the method of this name that a node calls; None for any other node."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == method:
        return node.func.value
    return None


def _finite(bank: Bank, mistake: Mistake) -> Iterator[Fill]:
    """The only fill of a mistake's text with a finite number, if a right answer has none there, and it is an edit."""
    if mistake.edits is None:
        return
    known = {fill.number for fill in fills(bank.right)}
    found = [fill for fill in fills(mistake.source) if fill.number not in known and fill.number not in INFINITE]
    if len(found) == 1 and mistake.source.count(found[0].text) == 1:
        yield found[0]


def _added(fill: Fill) -> Iterator[tuple[str, str]]:
    """The forms of a fill with a finite number, each with the number that may be another.

    What float16 lacks is -inf there once it is in its dtype: that is right, but for queries that see nothing.
    """
    try:
        size = abs(float(fill.number))
    except ValueError:  # the least number of a dtype
        yield fill.added(OWN), ""
        yield fill.added(OWN, NUMBER), NUMBER
        return
    if 100 < size <= HALF:
        yield fill.added(OWN), fill.number
        yield fill.added(AS_IT_IS), fill.number


def fills(text: str) -> list[Fill]:
    """The calls in a text that fill something by a mask that does not compare it: those inside others first."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and len(node.args) == 2:
            pieces = [ast.get_source_segment(text, piece) or "" for piece in (node, node.func.value, *node.args)]
            if node.func.attr == "masked_fill" and not _compares(node.args[0], pieces[1]):
                found.append(Fill(*pieces))
    return found[::-1]


def _compares(hidden: ast.expr, scores: str) -> bool:
    """Whether what is hidden depends on numbers of the scores themselves."""
    compared = (node for node in ast.walk(hidden) if isinstance(node, ast.Compare))
    return any(ast.unparse(part) == scores for node in compared for part in (node.left, *node.comparators))


def _plain(text: str) -> str:
    """A text without what does not matter, such as brackets around a sum."""
    return ast.unparse(ast.parse(text))


def edits_between(text: str, changed: str) -> dict[str, str]:
    """Edits of whole lines that make the one text of the other. Raises BankError if that cannot be written."""
    old, new = text.splitlines(keepends=True), changed.splitlines(keepends=True)
    edits: dict[str, str] = {}
    for tag, first, last, new_first, new_last in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        while first > 0 and (first == last or text.count("".join(old[first:last])) > 1):
            first, new_first = first - 1, new_first - 1
        edits["".join(old[first:last])] = "".join(new[new_first:new_last])
    if not edits:
        raise BankError("an edit that changes nothing")
    return edits
