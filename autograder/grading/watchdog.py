"""Ends work that uses far too much CPU in this process itself: a check that never ends, or chokes on its input.

Waiting for the sandbox has deadlines of its own and uses no CPU here.
"""

import contextlib
import ctypes
import math
import threading
import time
import traceback
from collections.abc import Iterator
from pathlib import Path

from .. import bounds

SECONDS = 100.0  # CPU seconds for the checks of one exercise; real answers, right or wrong, take less than ten
EVERY = 1.0  # seconds between two looks at the clock
CHECKS, MISTAKES = "the checks of ", "the mistakes of "  # what is watched, before the name of an exercise


class Endless(BaseException):
    """Something took far too long; the message says where. A BaseException, so that no check catches it as its own."""


@contextlib.contextmanager
def watching(most: float = math.inf, what: str = "") -> Iterator[None]:
    """Raise Endless in the body of the `with`, once this thread has used more than SECONDS of CPU in it, or `most`.

    Python raises it between two bytecode instructions: a single instruction that never ends is not interrupted. It ends
    the process a little later, if that is confined (bounds.py), for which the body is `what`. Raises bounds.Barred.
    """
    seconds = min(SECONDS, most)
    try:
        with bounds.lasting(what, seconds + bounds.LATE), _Watch(seconds):
            yield
    except Endless as end:
        end.args = (f"more than {seconds:g} s of CPU, at last in {_place(end)}",)
        raise


def _place(error: BaseException) -> str:
    """The check in which the error was raised, or else the function, with file and line."""
    frames = traceback.extract_tb(error.__traceback__)
    frame = next((f for f in reversed(frames) if f.name.startswith("test_")), frames[-1])
    return f"{frame.name} ({Path(frame.filename).name}:{frame.lineno})"


class _Watch:
    """Watches, from a thread of its own, the CPU clock of the thread that created it."""

    def __init__(self, seconds: float) -> None:
        self.thread = threading.get_ident()
        self.clock = time.pthread_getcpuclockid(self.thread)
        self.until = time.clock_gettime(self.clock) + seconds
        self.over = threading.Event()
        self.lock = threading.Lock()

    def __enter__(self) -> None:
        threading.Thread(target=self._look, daemon=True).start()

    def __exit__(self, *exc: object) -> None:
        with self.lock:  # so that no Endless can be raised after this
            self.over.set()

    def _look(self) -> None:
        while not self.over.wait(EVERY):
            with self.lock:
                if not self.over.is_set() and time.clock_gettime(self.clock) > self.until:
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self.thread), ctypes.py_object(Endless))
                    return
