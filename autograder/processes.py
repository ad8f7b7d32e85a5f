"""What processes that work for another one have in common."""

import contextlib
import ctypes
import os
import signal

PR_SET_PDEATHSIG = 1


def end_with(head):
    """Let this process end when the one that started it, of that number, ends."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != head:
        os._exit(1)


@contextlib.contextmanager
def without_interrupts():
    """Ignore Ctrl-C; processes that are started meanwhile do so for good."""
    usual = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
