"""A child as the trusted side sees it: requests with deadlines, and how the child ended.

A deadline limits the time that the child itself takes. The time that it waits for a processor, as the kernel counts it,
extends the deadline. So neither a busy machine nor a neighbour with many threads costs points.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import time
from collections.abc import Sequence
from typing import Any, NoReturn, Protocol

from ..errors import ChildGone, Died, Interrupted, SandboxError
from . import replies
from .inside import wire
from .jail import START_SECONDS, Limits

GRACE = 1.0  # seconds between the interrupt and the kill
STRETCH = 4.0  # a request may take this many times its deadline by the clock, if the child waits for a processor
LEAST = 0.01  # seconds: a shorter extension is not worth waiting for


class Forker(Protocol):
    """Whatever has forked a child, as `parent.WarmParent` does: it knows the limits, and how the child has ended."""

    limits: Limits

    def reap(self) -> dict[str, Any] | None: ...


class Child:
    """The process of one submission. `request` sends it a request and never waits past a deadline."""

    def __init__(self, parent: Forker, sock: socket.socket, pidfd: int) -> None:
        self.parent = parent
        self.sock = sock
        self.pidfd = pidfd
        self.number = 0
        self.schedule = _schedule_of(pidfd)
        self.took = 0.0  # seconds that the last request took, without those spent waiting for a processor
        self.ended: dict[str, Any] | None = None  # how it ended and what it cost, once it has ended
        self.unexplained = False  # whether another process or a lack of memory may have ended it
        self.lacks: dict[str, str] = {}  # what torch can't do in it, as `abilities.lacking` has it

    def greeted(self) -> Child:
        """Wait until this child reports that its lock is in place. Raises SandboxError if it is not, or Died."""
        try:
            hello, _ = wire.receive_frame(self.sock, time.monotonic() + START_SECONDS)
        except wire.Closed:
            self.kill()
            raise Died from None
        except wire.WireError as error:
            hello = {"ok": False, "message": str(error)}
        if not hello["ok"]:
            self.kill()
            raise SandboxError(f"A sandboxed process could not be confined: {hello['message']}")
        self.lacks = hello["lacks"]
        return self

    def request(
        self,
        message: wire.Message | wire.Encoded,
        tensors: Sequence[Any] = (),
        seconds: float = 10.0,
        most: float | None = None,
    ) -> tuple[wire.Message, wire.Tensors]:
        """Send a request, a dict or a wire.Encoded, and return `(reply, tensors)`.

        Raises Interrupted if it took longer than `seconds` (or `most` by the clock, if given) but could be interrupted,
        and ChildGone if it had to be killed, died, or sent an invalid answer.
        """
        self.number += 1
        made = message if isinstance(message, wire.Encoded) else wire.encoded(message, tensors)
        started, waited = time.monotonic(), self._waited()
        longest = STRETCH * seconds
        ends = started + (longest if most is None else min(longest, most))
        try:
            return self._exchange(made.numbered(self.number), min(started + seconds, ends), waited, ends)
        except wire.Late:
            return self._interrupt(seconds)
        except wire.Closed:
            raise self._gone() from None
        except wire.WireError as error:
            self.kill()
            raise ChildGone("killed", f"its reply cannot be read: {error}") from None
        finally:
            passed = time.monotonic() - started
            self.took = max(passed - max(0.0, self._waited() - waited), passed / STRETCH)

    def _exchange(
        self, frame: wire.Encoded, deadline: float, waited: float, ends: float
    ) -> tuple[wire.Message, wire.Tensors]:
        wire.send(self.sock, frame, deadline)
        reply, tensors = wire.receive_frame(self.sock, self._wait(deadline, waited, ends))
        self._check_number(reply)
        return reply, tensors

    def _wait(self, deadline: float, waited: float, ends: float) -> float:
        """Wait for an answer until the deadline, extended by the time that the child waited for a processor.

        `waited` is its waiting time before the request; the extended deadline is never later than `ends`. Returns the
        time by which the whole answer must have arrived. Raises wire.Late.
        """
        until = deadline
        while not self._is_answering(until - time.monotonic()):
            later = min(deadline + self._waited() - waited, ends)
            if later < until + LEAST:
                raise wire.Late("it did not answer in time")
            until = later
        return max(until, time.monotonic() + GRACE)

    def _is_answering(self, seconds: float) -> bool:
        """Whether there is something to read within so many seconds; a closed connection counts."""
        try:
            self.sock.settimeout(max(seconds, LEAST))
            self.sock.recv(1, socket.MSG_PEEK)
        except TimeoutError:
            return False
        except OSError:  # `receive_frame` will report it
            pass
        return True

    def _waited(self) -> float:
        """Seconds that the child's main thread has spent ready to run, waiting for a processor."""
        if self.schedule is None:
            return 0.0
        try:
            return int(os.pread(self.schedule, 100, 0).split()[1]) / 1e9
        except (OSError, IndexError, ValueError):  # it has ended, or this kernel does not tell
            return 0.0

    def _interrupt(self, seconds: float) -> NoReturn:
        try:
            signal.pidfd_send_signal(self.pidfd, signal.SIGINT)
            reply, _ = wire.receive_frame(self.sock, time.monotonic() + GRACE)
            self._check_number(reply)
        except (wire.WireError, ProcessLookupError):
            self.kill()
            raise ChildGone("timeout", f"it did not end within {seconds:g} s") from None
        raise Interrupted(f"it did not end within {seconds:g} s", _where(reply))

    def _check_number(self, reply: wire.Message) -> None:
        if reply.get("n") != self.number:
            self.kill()
            raise ChildGone("killed", "it sent a reply to no request")

    def _gone(self) -> ChildGone:
        """The reason why the connection closed: the process ended itself, or a limit or a signal ended it."""
        self.kill()
        ended = self.ended or {}
        number = ended.get("signal")
        spent = ended.get("cpu", 0) >= self.parent.limits.cpu_seconds
        if number == signal.SIGXCPU or (number == signal.SIGKILL and spent):
            return ChildGone("timeout", "it used up its processor time")
        if number == signal.SIGKILL and ended.get("over") == "disk":
            return ChildGone(
                "killed", f"it wrote more than {self.parent.limits.disk // 2**20} MiB of files, or too many"
            )
        if number == signal.SIGKILL and ended.get("over") == "memory":
            return ChildGone("killed", f"it took more than {self.parent.limits.memory // 2**20} MiB of memory")
        if number == signal.SIGKILL or not ended:
            self.unexplained = True
            return ChildGone("killed", "its process was ended")
        if number:
            return ChildGone("killed", f"its process was ended by a signal ({signal.strsignal(number) or number})")
        return ChildGone("killed", "it ended its own process")

    def kill(self) -> dict[str, Any]:
        """End the child and return what it cost (`cpu` in seconds, `memory` in bytes); empty if that is not known."""
        if self.ended is None:
            self.sock.close()
            try:
                if not self._finished(0.2):
                    signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)
            except ProcessLookupError:
                pass
            self.ended = self.parent.reap() or {}
            os.close(self.pidfd)
            if self.schedule is not None:
                os.close(self.schedule)
                self.schedule = None
        return self.ended

    def _finished(self, seconds: float) -> bool:
        """Whether the process ends by itself within so many seconds; its pidfd is readable then."""
        return bool(select.select([self.pidfd], [], [], seconds)[0])


def _where(reply: wire.Message) -> str:
    """The line at which a request was interrupted, in brackets; "" if the reply names none. It is only shown."""
    place = replies.failure(reply).where
    if place is None or not replies.CELL.fullmatch(place.file):
        return ""
    code = " ".join(place.code.replace("`", " ").split())
    return f" (in {place.file}, line {place.line}{f': `{code}`' if code else ''})"


def _schedule_of(pidfd: int) -> int | None:
    """Open the file in which the kernel counts how long a process waited for a processor; None if there is none."""
    try:
        return os.open(f"/proc/{number_of(pidfd)}/schedstat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None


def number_of(pidfd: int) -> int:
    """The process id of a child, which differs from the one in its namespace; below 1 if it has ended."""
    try:
        with open(f"/proc/self/fdinfo/{pidfd}") as file:
            return next((int(line.split()[1]) for line in file if line.startswith("Pid:")), 0)
    except OSError:
        return 0
