"""What worker processes have in common: they end with the head, and leave Ctrl-C to it."""

import contextlib
import ctypes
import os
import signal
from collections.abc import Iterator

PR_SET_PDEATHSIG = 1


def die_with(head: int) -> None:
    """Make this process end when its parent (with the process id `head`) ends; leave Ctrl-C to that parent."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != head:
        os._exit(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


@contextlib.contextmanager
def without_interrupts() -> Iterator[None]:
    """Hold back Ctrl-C; processes started meanwhile do not receive it before `die_with` has set how to handle it."""
    usual = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, usual)
