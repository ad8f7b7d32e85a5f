"""Says what the demo is doing, so that it is never silent: a line that ticks on a terminal, more lines into a pipe."""

from __future__ import annotations

import contextlib
import shutil
import threading
import time
from collections.abc import Iterator
from typing import TextIO

QUIET = 2.0  # seconds without a word into a pipe
TICK = 0.5  # seconds between two looks at whether there is something to say
CLEAR = "\r\x1b[K"


class Ticker:
    """Writes lines to a stream, and what is being done as long as nothing else is written. Use it in a `with`."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.terminal = stream.isatty()
        self.what = ""  # what is being done; "" for nothing that takes time
        self.since = self.spoke = time.monotonic()
        self._lock = threading.RLock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._tick, daemon=True)

    def __enter__(self) -> Ticker:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._over.set()
        self._thread.join()
        if self.terminal:
            self._write(CLEAR)

    def say(self, text: str = "") -> None:
        """Write a line (or several) that stays."""
        with self._lock:
            self._write(f"{CLEAR if self.terminal else ''}{text}\n")

    @contextlib.contextmanager
    def doing(self, what: str) -> Iterator[None]:
        """Tell, now and while the block runs, what is being done and for how long already."""
        self.since = time.monotonic()
        self.turn_to(what)
        try:
            yield
        finally:
            self.turn_to("")

    def turn_to(self, what: str) -> None:
        """Tell something else from now on, such as how much is done."""
        with self._lock:
            self.what = what
            if self.terminal:
                self._show()

    def _tick(self) -> None:
        while not self._over.wait(TICK):
            with self._lock:
                if self.terminal or (self.what and time.monotonic() - self.spoke >= QUIET):
                    self._show()

    def _show(self) -> None:
        """Write what is being done: over the last such line on a terminal, else on a line of its own."""
        line = f"  {self.what}, {time.monotonic() - self.since:.0f} s" if self.what else ""
        if self.terminal:
            self._write(CLEAR + line[: shutil.get_terminal_size().columns - 1])
        else:
            self._write(f"{line}\n")

    def _write(self, text: str) -> None:
        with contextlib.suppress(ValueError, BrokenPipeError):  # whoever read it has gone; the demo itself goes on
            self.stream.write(text)
            self.stream.flush()
        self.spoke = time.monotonic()
