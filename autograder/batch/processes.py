"""What worker processes have in common: they end with the head, and leave Ctrl-C to it."""

import contextlib
import signal
from collections.abc import Iterator

from .. import bounds


def die_with(head: int) -> None:
    """Make this process end when its parent (with the process id `head`) ends; leave Ctrl-C to that parent."""
    bounds.end_with(head)
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
