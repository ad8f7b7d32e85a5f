"""Shows what the demo is doing, so that it is never silent: one bar on a terminal, now and then a line into a pipe."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from typing import NoReturn, TextIO

from tqdm import tqdm

QUIET = 20.0  # seconds without a word into a pipe
TICK = 0.5  # seconds between two looks at whether there is something to show
COLUMNS = 79  # of a line into a pipe
BAR = "  {desc} |{bar}| {n_fmt} of {total_fmt}, {elapsed}"


class Ticker:
    """Writes lines to a stream, and shows there what is being done and how much is done. Use it in a `with`.

    `total` is how much there is to do.
    """

    def __init__(self, stream: TextIO, total: int) -> None:
        self.stream = stream
        self.terminal = stream.isatty()
        self.what = ""  # what is being done; "" for nothing that takes time
        self.spoke = time.monotonic()
        width = None if self.terminal else COLUMNS  # None: as wide as the terminal
        # it is shown by _show alone: a bar that has a delay shows itself neither at its start nor at a step
        self.bar: tqdm[NoReturn] = tqdm(
            total=total,
            file=stream,
            leave=False,
            delay=float("inf"),
            bar_format=BAR,
            ncols=width,
            dynamic_ncols=not width,
        )
        self._lock = threading.RLock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._tick, daemon=True)

    def __enter__(self) -> Ticker:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._over.set()
        self._thread.join()
        with self._lock, _unless_nobody_reads():
            self._hide()
            self.bar.close()

    def say(self, text: str = "") -> None:
        """Write a line (or several) that stays."""
        with self._lock, _unless_nobody_reads():
            self._hide()
            self._write(text)
            self._show_on_a_terminal()

    @contextlib.contextmanager
    def doing(self, what: str) -> Iterator[None]:
        """Show, now and while the block runs, what is being done."""
        self.turn_to(what)
        try:
            yield
        finally:
            self.turn_to("")

    def turn_to(self, what: str) -> None:
        """Show something else from now on."""
        with self._lock, _unless_nobody_reads():
            self.what = what
            self.bar.set_description_str(what, refresh=False)
            self._show_on_a_terminal()

    def step(self) -> None:
        """One more is done."""
        with self._lock:
            self.bar.update()

    @property
    def done(self) -> int:
        """How much is done."""
        return int(self.bar.n)

    def reach(self, done: int) -> None:
        """So much is done, whatever the steps were."""
        with self._lock:
            self.bar.n = done

    def _tick(self) -> None:
        while not self._over.wait(TICK):
            with self._lock, _unless_nobody_reads():
                self._show_on_a_terminal()
                if not self.terminal and self.what and time.monotonic() - self.spoke >= QUIET:
                    self._write(str(self.bar))

    def _show_on_a_terminal(self) -> None:
        if self.terminal and self.what:
            self.bar.refresh()

    def _hide(self) -> None:
        if self.terminal:
            self.bar.clear()

    def _write(self, text: str) -> None:
        self.stream.write(f"{text}\n")
        self.stream.flush()
        self.spoke = time.monotonic()


def _unless_nobody_reads() -> contextlib.AbstractContextManager[None]:
    """The demo itself goes on when whoever read it has gone."""
    return contextlib.suppress(ValueError, BrokenPipeError)
