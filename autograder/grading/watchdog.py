"""Ends what takes this process itself far too long: a check that never ends, or that is fed what chokes it.

What waits for the sandbox has deadlines of its own and costs no CPU here.
"""

import contextlib
import ctypes
import math
import threading
import time
import traceback
from collections.abc import Iterator
from pathlib import Path

SECONDS = 100.0  # of CPU, for the checks of one exercise; right or wrong answers take less than ten
EVERY = 1.0  # seconds between two looks


class Endless(BaseException):
    """It took far too long; the message says in what. No Exception, so that no check takes it for one of its own."""


@contextlib.contextmanager
def watching(most: float = math.inf) -> Iterator[None]:
    """Raise Endless in what is done meanwhile, in this thread, once it has used more than SECONDS of CPU, or `most`.

    Python sees to that between two of its instructions: a single one that never ends is not ended.
    """
    seconds = min(SECONDS, most)
    try:
        with _Watch(seconds):
            yield
    except Endless as end:
        end.args = (f"more than {seconds:g} s of CPU, at last in {_place(end)}",)
        raise


def _place(error: BaseException) -> str:
    """The check in which it was raised, or the function, and where."""
    frames = traceback.extract_tb(error.__traceback__)
    frame = next((f for f in reversed(frames) if f.name.startswith("test_")), frames[-1])
    return f"{frame.name} ({Path(frame.filename).name}:{frame.lineno})"


class _Watch:
    """A thread that looks at the CPU clock of the one that made it."""

    def __init__(self, seconds: float) -> None:
        self.thread = threading.get_ident()
        self.clock = time.pthread_getcpuclockid(self.thread)
        self.until = time.clock_gettime(self.clock) + seconds
        self.over = threading.Event()
        self.lock = threading.Lock()

    def __enter__(self) -> None:
        threading.Thread(target=self._look, daemon=True).start()

    def __exit__(self, *exc: object) -> None:
        with self.lock:  # so that it comes now or never
            self.over.set()

    def _look(self) -> None:
        while not self.over.wait(EVERY):
            with self.lock:
                if not self.over.is_set() and time.clock_gettime(self.clock) > self.until:
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self.thread), ctypes.py_object(Endless))
                    return
