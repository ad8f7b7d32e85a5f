"""Distinguishes a student's own text from released text and from code: lines to show, and prose in a code cell."""

from __future__ import annotations

import ast
import keyword
import re
import unicodedata
import warnings
from collections.abc import Collection

from .. import course
from . import hand_in_cell

# what nbgrader puts in place of an answer, and what this kit does; old releases have nbgrader's own
PLACEHOLDERS = {course.PLACEHOLDER, "YOUR ANSWER HERE", "# YOUR CODE HERE", "raise NotImplementedError()"}
LETTERS = 30  # of a comment or string that may be an answer; a shorter one is about the code
WIDE = 3  # letters that one of a wide script says as much as, such as Chinese
LONGEST = 10_000  # characters of a code cell that is parsed: see the limits of checks/source_text.py
PARTS = 1_000  # dots and braces of it
BADGES = re.compile(  # lines that the kit, Colab, Deepnote and Kaggle write into a notebook by themselves
    rf"{re.escape(course.BADGE)}[^()\s]*\)\]\([^()\s]*\)"
    r'|<a href="https://colab\.research\.google\.com/[^"<>]*" target="_parent">'
    r'<img src="https://colab\.research\.google\.com/[^"<>]*" alt="Open In Colab" ?/></a>'
    r"|<a [^<>]*\bhref='https://deepnote\.com\?utm_source=created-in-deepnote-cell[^<>]*>(?:Created in Deepnote</a>)?"
    r"|<img alt='Created in deepnote\.com'[^<>]*>(?: ?</img>)?|Created in <span[^<>]*>Deepnote</span></a>"
    r"|# (?:This Python 3 environment comes with many helpful|It is defined by the kaggle/python"
    r"|For example, here's several helpful packages|Input data files are available in the read-only"
    r"|For example, running this \(by|You can write up to \d+GB to the"
    r"|You can also write temporary files to /kaggle/)[^\n]*"
)
WRAPPING = re.compile(  # with which Databricks and marimo have a text in a cell of code: the text behind it, if any
    r"%md(?:-sandbox)?\b *(?P<text>.*)|%python"
    r"|mo\.md\((?:[rRfF]{0,2}(?:\"\"\"|'''))?|(?:\"\"\"|''')\)|import marimo as mo"
)
REFUSAL = re.compile(r"^[ \t]*(?:raise|assert)\b[^\n]*", re.MULTILINE)  # what it says is for whoever calls the code
MAGIC = re.compile(r"^[ \t]*[%!?].*$", re.MULTILINE)
TEXT = re.compile(r"\s*(%%(markdown|latex|html|svg)|%md)\b")  # magics of cells that are not code
SHOWS = re.compile(r"\b(print|display|Markdown|Latex|Math|HTML)\b|\b[rbfuRBFU]{1,2}(?=[\"'])")  # around what is said
CODE = re.compile(r"[=(\[{@]|:[ \t]*$", re.MULTILINE)  # what code has, and an answer hardly
UNCLOSED = re.compile(r"(?<=[(=,])\s*[rbfuRBFU]*[\"'].*")  # a string that somebody forgot to close
KEYWORDS = {*keyword.kwlist, *keyword.softkwlist, "print"}  # a word may follow these, in Python 2 the last one, too
PAIRS = 2  # of words side by side in a line: one may be a slip, such as "retrun scores"
SAID = re.compile(  # a string, comments on lines of their own, or the comment behind a line
    r'""".*?"""|"[^"\n]*"'
    r"|'''.*?'''|'[^'\n]*'"
    r"|^[ \t]*#[^\n]*(?:\n[ \t]*#[^\n]*)*|#[^\n]*",
    re.MULTILINE | re.DOTALL,
)


def lines_of(text: str) -> list[str]:
    """The lines of a text that hold something to see, without what a release adds of its own."""
    plain = (_unwrapped(" ".join(_visible(line).split())) for line in text.splitlines())
    return [line for line in plain if line and line not in PLACEHOLDERS and not _is_the_kits(line)]


def _unwrapped(line: str) -> str:
    """A line without what a service puts around a text to have it in a cell of code."""
    found = WRAPPING.fullmatch(line)
    return line if found is None else found["text"] or ""


def _is_the_kits(line: str) -> bool:
    return bool(BADGES.fullmatch(line)) or hand_in_cell.is_line(line)


def _visible(line: str) -> str:
    """A line without characters that show nothing, such as zero-width spaces."""
    return line if line.isascii() else "".join(c for c in line if unicodedata.category(c) not in ("Cf", "Cc"))


def says_something(source: str, released: Collection[str] = ()) -> bool:
    """Whether a comment or string in code, without what was released, is long enough to be an answer."""
    for found in SAID.finditer(REFUSAL.sub("", source)):
        own = [line for line in lines_of(found[0]) if line not in released]
        if sum(map(_letters_in, "".join(own))) >= LETTERS:
            return True
    return False


def said(source: str, released: Collection[str] = ()) -> list[str]:
    """The comments and strings in code, without the lines that were released."""
    found = (lines_of(match[0]) for match in SAID.finditer(REFUSAL.sub("", source)))
    return [own for lines in found if (own := "\n".join(line for line in lines if line not in released))]


def outside_definitions(source: str) -> str:
    """Code without its functions and classes, and the comments right above them: what is said there is about them."""
    tree = _parsed(source)
    if tree is None:
        return source
    lines = re.split(r"\r\n|\r|\n", source)  # as Python does
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)]) - 1
            while first and lines[first - 1].lstrip().startswith("#"):
                first -= 1
            lines[first : node.end_lineno] = [""] * ((node.end_lineno or node.lineno) - first)
    return "\n".join(lines)


def is_partly_text(source: str, released: Collection[str] = ()) -> bool:
    """Whether the code of an exercise has text in it that is no comment: it has words side by side, as no code has.

    So has a cell without any code.
    """
    left = SAID.sub("", MAGIC.sub("", SHOWS.sub("", source)))
    if TEXT.match(source):
        return True
    if not any(map(str.isalnum, left)):
        return says_something(source, released)
    tree = _parsed(source)
    if tree is not None:
        names = [one.value.id for one in tree.body if isinstance(one, ast.Expr) and isinstance(one.value, ast.Name)]
        return len(names) == len(tree.body) or any(_is_a_sentence(name) for name in names)
    own = [line for line in left.splitlines() if " ".join(line.split()) not in released]
    return not CODE.search(left) or any(_is_a_sentence(UNCLOSED.sub("", line)) for line in own)


def _is_a_sentence(line: str) -> bool:
    """Whether two pairs of words stand side by side in what is left of code, or as much as that of a wide script."""
    words = re.findall(r"[^\W\d_]+|\S", line)
    plain = [word.isalpha() and word not in KEYWORDS for word in words]
    return sum(map(min, plain, plain[1:])) >= PAIRS or sum(_letters_in(c) == WIDE for c in line) > PAIRS


def _letters_in(char: str) -> int:
    """How many letters of an alphabet a character represents."""
    return (WIDE if unicodedata.east_asian_width(char) in "WF" else 1) if char.isalpha() else 0


def computes(source: str) -> bool:
    """Whether the text of a code cell is Python with more in it than comments, strings and what prints them."""
    if TEXT.match(source):
        return False
    left = SAID.sub("", SHOWS.sub("", source))
    return any(map(str.isalnum, left)) and _parsed(source) is not None


def _parsed(source: str) -> ast.Module | None:
    """The tree of code; None if it is no Python, or too much of it."""
    if len(source) > LONGEST or source.count(".") + source.count("{") > PARTS:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(MAGIC.sub("", source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
