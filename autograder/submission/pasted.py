"""Says what in a code cell is no Python, where a line shows it: Markdown's fences, the marks of a merge conflict."""

from __future__ import annotations

import re

FENCE = re.compile(r"^[ \t]*((?:```|~~~)[ \t]*\w{0,20})[ \t]*$", re.MULTILINE)
CONFLICT = re.compile(r"^[ \t]*(<{7}|>{7})(?: |$)", re.MULTILINE)


def no_python(text: str, cell: str) -> str:
    """A sentence on the first such line of the text of a `cell`, named such as "code cell 7"; "" if there is none."""
    if found := CONFLICT.search(text):
        return (
            f"line {_line(text, found)} of {cell} is the mark of a merge conflict ({found[1]}): keep one of the two"
            " versions, and take the marks away."
        )
    if found := FENCE.search(text):
        return (
            f"line {_line(text, found)} of {cell} is {found[1]} and no Python, but a mark of Markdown around code: take"
            " away the line, and the one that ends it."
        )
    return ""


def _line(text: str, found: re.Match[str]) -> int:
    return text.count("\n", 0, found.start(1)) + 1
