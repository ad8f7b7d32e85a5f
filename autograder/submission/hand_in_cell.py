"""The cell with which a released notebook hands itself in: its text, and how its lines are known again.

It is nothing of a student's: it is not run when it is graded, and no answer to a question.
"""

from __future__ import annotations

import re

ID = "hand-in"  # of the cell
FILE = "hand_in.py"  # beside the notebook, and at the desk
TEXT = """\
# Hands this notebook in, and shows the answer below. Save it first.
# In a cell of your own, ask("{exercise}") answers for that exercise alone.
try:
    from hand_in import ask, hand_in
except ImportError:  # where a notebook is opened alone, as in Colab
    from urllib.request import urlretrieve

    urlretrieve("{address}/{file}", "{file}")
    from hand_in import ask, hand_in

hand_in()"""

CALL = r"""(?:hand_in|ask)\((?:"\w*"|'\w*')?(?:(?:, *)?anyway *= *(?:True|False))?\)"""
IMPORT = r"(?:from hand_in import (?:ask|hand_in)(?:, *(?:ask|hand_in))?|import hand_in)"
LINE = re.compile(
    "|".join(
        re.escape(line).replace(r"\{exercise\}", r"\w+").replace(r"\{address\}", r'[^"\s]+').replace(r"\{file\}", FILE)
        for line in (" ".join(line.split()) for line in TEXT.splitlines())
        if line
    )
    + f"|(?:{IMPORT}|{CALL})(?: *; *(?:{IMPORT}|{CALL}))*;?"
)


def text(address: str, exercise: str) -> str:
    """The cell of a release, for the desk at this address; `exercise` is the example."""
    return TEXT.format(address=address, exercise=exercise, file=FILE)


def is_line(line: str) -> bool:
    """Whether a line does nothing but hand in."""
    return len(line) < 2_000 and bool(LINE.fullmatch(" ".join(line.split())))


def only_hands_in(source: str) -> bool:
    """Whether a code cell does nothing but hand in."""
    lines = [line for line in source.splitlines() if line.strip()]
    return bool(lines) and all(map(is_line, lines))
