"""Formulas in LaTeX as MathML, which browsers show without any script, and screen readers read out.

Students write formulas, too: what they write is bounded before it is converted, and of what comes out only known
elements and attributes stay.
"""

from __future__ import annotations

import functools
import re
from html import escape, unescape
from xml.etree import ElementTree

from math_core import LatexError, LatexToMathML

LONGEST = 1_000  # characters of a formula; the course's longest has 207
DEEPEST = 40  # braces, brackets and environments within one another
BIGGEST = 20_000  # characters of MathML; the course's longest formula makes 1,300

ELEMENTS = set(
    "math mrow mi mo mn mtext code mspace msub msup msubsup mover munder munderover mfrac msqrt mroot"
    " mtable mtr mtd".split()
)
ATTRIBUTES = {  # what an attribute may say; lengths of up to three ems
    **dict.fromkeys(("stretchy", "accent", "accentunder", "displaystyle", "movablelimits", "symmetric"), "true|false"),
    **dict.fromkeys(("lspace", "rspace", "width", "minsize", "maxsize", "linethickness"), r"[0-3](\.\d+)?(em)?"),
    "display": "block|inline",
    "form": "prefix|infix|postfix",
    "mathvariant": "normal",
    "scriptlevel": "0",
}

_ENTITY = re.compile(r"&(?!amp;|lt;|gt;|quot;|apos;)\w+;")  # of HTML, which XML does not know
_LEAVES = re.compile(r"\\[a-zA-Z]+|\\.|[{}]", re.DOTALL)
_CHANGES = {"{": 1, r"\left": 1, r"\begin": 1, "}": -1, r"\right": -1, r"\end": -1}
_converter = LatexToMathML(fancy_error=False, max_expansions=100)


@functools.lru_cache(maxsize=1_000)
def as_mathml(formula: str, is_block: bool = False) -> str:
    """The formula as MathML, or as code where it is none, uses what is unknown, or is too long.

    A block that lists several formulas with much space between them may be broken there, on narrow screens.
    """
    parts = _parts(formula) if is_block else [formula]
    made = [_converted(part, is_block) for part in parts] if len(formula) <= LONGEST else [None]
    if None in made:
        return f"<code>{escape(formula.strip())}</code>"
    return " ".join(part for part in made if part)


def _converted(formula: str, is_block: bool) -> str | None:
    if _depth(formula) > DEEPEST:
        return None
    try:
        made = _converter.convert_with_local_state(formula, displaystyle=is_block)
        if len(made) > BIGGEST:
            return None
        root = ElementTree.fromstring(_ENTITY.sub(lambda found: unescape(found[0]), made))
    except (LatexError, ElementTree.ParseError, UnicodeEncodeError):
        return None
    if not _is_reduced(root):
        return None
    if root.attrib.pop("display", "") == "block":
        root.set("displaystyle", "true")  # large, but in a line with others
    return ElementTree.tostring(root, encoding="unicode")


def _is_reduced(element: ElementTree.Element) -> bool:
    """Whether an element and all in it are known; attributes that are not are dropped."""
    for name, value in list(element.attrib.items()):
        if not re.fullmatch(ATTRIBUTES.get(name, r"(?!)"), value):
            del element.attrib[name]
    return element.tag in ELEMENTS and all(_is_reduced(child) for child in element)


def _depth(formula: str) -> int:
    """How deep the deepest part of a formula is nested."""
    depth = deepest = 0
    for found in _LEAVES.findall(formula):
        depth += _CHANGES.get(found, 0)
        deepest = max(deepest, depth)
    return deepest


def _parts(formula: str) -> list[str]:
    r"""The formulas that a block lists, separated by `\qquad` outside of all braces."""
    parts, depth, start = [], 0, 0
    for found in _LEAVES.finditer(formula):
        depth += _CHANGES.get(found[0], 0)
        if found[0] == r"\qquad" and depth == 0:
            parts.append(formula[start : found.start()])
            start = found.end()
    return [part for part in [*parts, formula[start:]] if part.strip()]
