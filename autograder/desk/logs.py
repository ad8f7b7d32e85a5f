"""What the desk says on standard error: on one line each, and no more than one a minute of a kind.

Operators watch standard error, and much of what is said quotes what anybody may send. So nothing that is quoted begins
a line, moves the cursor, or fills the disk.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from ..verdict import is_printable

EVERY = 60.0  # seconds between two lines of a kind
KINDS = 1000  # of which it is known when they were said last
MOST = 1000  # characters of a line
FORMAT = "autograder: %(message)s"


def one_line(text: object, most: int = MOST) -> str:
    """A text on one line: without line ends of any kind, controls, and escapes."""
    said = str(text)[: 4 * most]
    plain = "".join(c if is_printable(c) else " " if c.isspace() else "\N{REPLACEMENT CHARACTER}" for c in said)
    plain = " ".join(plain.split())
    return plain if len(plain) <= most else f"{plain[: most - 1]}…"


class Seldom:
    """Says which lines of a kind are due, and counts the others."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.lock = threading.Lock()
        self.said: OrderedDict[object, tuple[float, int]] = OrderedDict()  # when, and how many since then

    def more(self, kind: object) -> int | None:
        """How many of a kind were left out before this one; None if it is to be left out, too."""
        with self.lock:
            now = self.clock()
            last, left_out = self.said.get(kind, (-EVERY, 0))
            if now - last < EVERY:
                self.said[kind] = last, left_out + 1
                return None
            self.said[kind] = now, 0
            self.said.move_to_end(kind)
            if len(self.said) > KINDS:
                self.said.popitem(last=False)
            return left_out


class Log:
    """A logger for one part of the desk. Each text that it is given ends up on one line."""

    def __init__(self, name: str) -> None:
        self.logger = logging.getLogger(name)
        self.seldom = Seldom()

    def warning(self, text: str, *about: object, kind: object = None) -> None:
        """Warn of something. Those with one `kind` (the text, if none is given) are said once a minute."""
        self._say(logging.WARNING, text, about, kind)

    def error(self, text: str, *about: object, kind: object = None, exc_info: Any = None) -> None:
        """Say that something does not work."""
        self._say(logging.ERROR, text, about, kind, exc_info)

    def _say(self, level: int, text: str, about: tuple[object, ...], kind: object, exc_info: Any = None) -> None:
        more = self.seldom.more((text, kind))
        if more is not None:
            said = tuple(one if isinstance(one, int | float) else one_line(one) for one in about)
            counted = f"{text} (and {more} more of this kind since)" if more else text
            self.logger.log(level, counted, *said, exc_info=exc_info, extra={"is_seldom": True})


class Handler(logging.StreamHandler):
    """Writes to standard error what any part of the process says, libraries too: by the same rules."""

    def __init__(self) -> None:
        super().__init__(sys.stderr)
        self.seldom = Seldom()
        self.setFormatter(Formatter(FORMAT))
        self.addFilter(self._is_due)

    def _is_due(self, record: logging.LogRecord) -> bool:
        if getattr(record, "is_seldom", False):
            return True
        more = self.seldom.more((record.name, record.levelno, record.msg))
        if more:
            record.msg, record.args = f"{record.getMessage()} (and {more} more of this kind since)", ()
        return more is not None


class Formatter(logging.Formatter):
    """Puts a message on one line; the lines of a traceback are indented, so that none looks like a message."""

    def format(self, record: logging.LogRecord) -> str:
        text = FORMAT % {"message": one_line(record.getMessage())}
        if record.exc_info:
            text += "".join(f"\n    {line}" for line in map(_kept, self.formatException(record.exc_info).splitlines()))
        return text


def _kept(line: str) -> str:
    blanks = len(line) - len(line.lstrip(" "))
    return " " * min(blanks, 20) + one_line(line)
