"""What processes that work for another one have in common."""

import contextlib
import ctypes
import os
import signal
from collections.abc import Iterator

PR_SET_PDEATHSIG = 1


def die_with(head: int) -> None:
    """Let this process end when the one that started it, of that number, ends; Ctrl-C is for that one alone."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != head:
        os._exit(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


@contextlib.contextmanager
def without_interrupts() -> Iterator[None]:
    """Let Ctrl-C wait; processes that are started meanwhile do not get it before `end_with` says what is to be done."""
    usual = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, usual)
