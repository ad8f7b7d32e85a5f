"""Distinguishes a student's own text from released text and from code: lines to show, and prose in a code cell."""

from __future__ import annotations

import ast
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
BADGES = re.compile(  # lines that the kit, and Colab when it saves, write on top of a notebook
    rf"{re.escape(course.BADGE)}[^()\s]*\)\]\([^()\s]*\)"
    r'|<a href="https://colab\.research\.google\.com/[^"<>]*" target="_parent">'
    r'<img src="https://colab\.research\.google\.com/[^"<>]*" alt="Open In Colab" ?/></a>'
)
REFUSAL = re.compile(r"^[ \t]*(?:raise|assert)\b[^\n]*", re.MULTILINE)  # what it says is for whoever calls the code
MAGIC = re.compile(r"^[ \t]*[%!?].*$", re.MULTILINE)
TEXT = re.compile(r"\s*%%(markdown|latex|html|svg)\b")  # magics of cells that are not code
SHOWS = re.compile(r"\b(print|display|Markdown|Latex|Math|HTML)\b|\b[rbfuRBFU]{1,2}(?=[\"'])")  # around what is said
SAID = re.compile(  # a string, comments on lines of their own, or the comment behind a line
    r'""".*?"""|"[^"\n]*"'
    r"|'''.*?'''|'[^'\n]*'"
    r"|^[ \t]*#[^\n]*(?:\n[ \t]*#[^\n]*)*|#[^\n]*",
    re.MULTILINE | re.DOTALL,
)


def lines_of(text: str) -> list[str]:
    """The lines of a text that hold something to see, without what a release adds of its own."""
    plain = (" ".join(_visible(line).split()) for line in text.splitlines())
    return [line for line in plain if line and line not in PLACEHOLDERS and not _is_the_kits(line)]


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


def _letters_in(char: str) -> int:
    """How many letters of an alphabet a character represents."""
    return (WIDE if unicodedata.east_asian_width(char) in "WF" else 1) if char.isalpha() else 0


def computes(source: str) -> bool:
    """Whether the text of a code cell is Python with more in it than comments, strings and what prints them."""
    if TEXT.match(source):
        return False
    left = SAID.sub("", SHOWS.sub("", source))
    if not any(map(str.isalnum, left)):
        return False
    if len(source) > LONGEST or source.count(".") + source.count("{") > PARTS:
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(MAGIC.sub("", source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
