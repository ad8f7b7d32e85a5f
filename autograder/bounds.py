"""Bounds what is tried on the trusted side: one hypothesis, candidate or check fails, never the process that tries it.

In any process, what is tried may take ROOM bytes beyond what the process has. In one that is `confined`, it may also
take SECONDS of CPU, and may start no process. What ends only with its process, such as a loop in C, is written into the
process's Slot, where the one that started it reads until when it may last, and what it is. Once that has ended a
process, it is `barred`: later processes do not try it again.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import resource
import signal
import struct
import sys
import time
from collections.abc import Collection, Iterator
from pathlib import Path
from types import FrameType

ROOM = 2**28  # bytes: a right answer takes less than 50 MB in any check, torch's threads and arenas among them
SECONDS = 10.0  # of CPU for one request: what a student's code may take for a call (`jail.Limits`)
LATE = 5.0  # seconds of CPU after that: what has not ended by then ends only with its process
STRETCH = 10  # times as long by the clock: what sleeps ends, too, and a busy machine ends nothing
PR_SET_PDEATHSIG = 1
MOST_NAMED = 500  # bytes of a name in a Slot
# CUDA reserves far more addresses than it uses: where there is one, what is written to counts, and there is more of it
HAS_CUDA = Path("/dev/nvidiactl").exists()
KIND, FIELD = (resource.RLIMIT_DATA, 5) if HAS_CUDA else (resource.RLIMIT_AS, 0)  # the limit; its use in statm
TIMES = 8 if HAS_CUDA else 1  # CUDA alone takes 500 to 900 MiB with the first tensor
STARTS = {"os.fork", "os.forkpty", "os.exec", "os.posix_spawn", "os.spawn", "os.system", "subprocess.Popen"}
NO_MEMORY = ("not enough memory", "can't allocate memory", "Cannot allocate memory", "bad_alloc")  # as torch says it


class Barred(RuntimeError):
    """This has ended a process before, and is not tried again."""


class TookTooLong(Exception):
    """What is tried has used more CPU than it may."""


class StartedProcess(PermissionError):
    """What is tried has tried to start a process."""


ERRORS = ("MemoryError", TookTooLong.__name__, StartedProcess.__name__)  # the types of errors that a bound raises


class Slot:
    """What a process is at, for the one that started it: memory that both share."""

    FORM = struct.Struct("ddI")  # CPU seconds of the process and the clock's until when it may last; the name's length
    NOTHING = 0.0, 0.0, ""

    def __init__(self) -> None:
        self.memory = mmap.mmap(-1, mmap.PAGESIZE)

    def put(self, cpu: float, clock: float, what: str) -> None:
        name = what.encode()[:MOST_NAMED]
        self.memory[: self.FORM.size] = self.FORM.pack(cpu, clock, len(name))
        self.memory[self.FORM.size : self.FORM.size + len(name)] = name

    def get(self) -> tuple[float, float, str]:
        """(CPU seconds, the clock's seconds, what it is at); NOTHING if it may take as long as it likes."""
        cpu, clock, length = self.FORM.unpack_from(self.memory)
        return cpu, clock, self.memory[self.FORM.size : self.FORM.size + length].decode(errors="replace")


class State:
    """What this process tries now (empty: nothing), what it may not try, and what was stopped by a bound."""

    slot: Slot | None = None  # in a confined process
    without: Collection[str] = ()  # what is left out of the submission that is graded
    now = ""
    barred: set[str] = set()  # noqa: RUF012  of the process
    stopped: set[str] = set()  # noqa: RUF012


def is_barred(what: str) -> bool:
    """Whether this is not to be tried any more."""
    return what in State.barred or what in State.without


def leave_out(what: Collection[str]) -> None:
    """Let these not be tried until the next call."""
    State.without = what


def bar(what: str) -> None:
    """Let this not be tried again, here and in the processes that are forked from now on."""
    State.barred.add(what)


def was_stopped(what: str) -> bool:
    """Whether a bound has stopped this in this process."""
    return what in State.stopped


def note(what: str, kind: str, message: str) -> None:
    """Note that an error of such a type and message ended what was tried, if a bound has raised it."""
    if kind in ERRORS or any(text in message for text in NO_MEMORY):
        State.stopped.add(what)


@contextlib.contextmanager
def tried(what: str) -> Iterator[None]:
    """Bound the body of the `with`, which tries `what`; if it is itself part of something tried, that is the bound.

    Raises Barred.
    """
    if State.now:
        yield
        return
    soft, hard = resource.getrlimit(KIND)
    room = _used() + ROOM * TIMES
    try:
        with lasting(what, SECONDS + LATE):
            State.now = what or "?"
            resource.setrlimit(KIND, (room if soft == resource.RLIM_INFINITY else min(room, soft), hard))
            if State.slot:
                signal.setitimer(signal.ITIMER_PROF, SECONDS)
            yield
    finally:
        if State.slot:
            signal.setitimer(signal.ITIMER_PROF, 0)
        State.now = ""
        resource.setrlimit(KIND, (soft, hard))


@contextlib.contextmanager
def lasting(what: str, seconds: float) -> Iterator[None]:
    """Have a confined process ended if the body of the `with` takes more CPU than this, or far longer by the clock.

    Raises Barred.
    """
    if is_barred(what):
        raise Barred(f"{what} is left out")
    slot = State.slot
    if slot is None:
        yield
        return
    before = slot.get()
    slot.put(time.process_time() + seconds, time.monotonic() + STRETCH * seconds, what)
    try:
        yield
    finally:
        slot.put(*before)


def confine(slot: Slot, room: int) -> None:
    """Confine this process, which was forked to try things: it may take `room` bytes more than it has now.

    The process that forked it watches `slot`, and has Ctrl-C and other signals for itself.
    """
    State.slot = slot
    slot.put(*Slot.NOTHING)
    os.setpgid(0, 0)  # so that what it starts all the same can be ended with it
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN if number == signal.SIGINT else signal.SIG_DFL)
    signal.signal(signal.SIGPROF, _stop)
    _, hard = resource.getrlimit(KIND)
    most = _used() + room * TIMES
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(KIND, (most, hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    sys.addaudithook(_refuse)


def end_with(parent: int) -> None:
    """Make this process end when the one that started it ends, which has this process id."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def _stop(number: int, frame: FrameType | None) -> None:
    if State.now:  # else it has ended meanwhile
        raise TookTooLong(f"it took more than {SECONDS:g} s of CPU")


def _refuse(event: str, given: tuple[object, ...]) -> None:
    if event in STARTS and State.now:
        raise StartedProcess("what is tried may start no process")


def _used() -> int:
    """How much this process has of what the limit counts."""
    with open("/proc/self/statm", "rb") as file:
        return counted(file.read())


def counted(statm: bytes) -> int:
    """What the limit counts, in bytes, of a process with this `statm`."""
    return int(statm.split()[FIELD]) * mmap.PAGESIZE
