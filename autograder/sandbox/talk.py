"""One child, as the trusted side sees it: requests under deadlines, and how it ended."""

import os
import select
import signal
import time

from . import jail
from .inside import wire
from .warm import START_SECONDS, ChildGone, Died, Interrupted

GRACE = 1.0  # seconds between an interrupt and the kill


class Child:
    """One submission's process. `request` asks it something and never waits past a deadline."""

    def __init__(self, parent, sock, pidfd):
        self.parent = parent
        self.sock = sock
        self.pidfd = pidfd
        self.number = 0
        self.ended = None  # once it has ended: how, and what it cost
        self.unexplained = False  # whether something else may have ended it: somebody, or a machine out of memory

    def greeted(self):
        """This child, once it has said that its lock is in place. Raises jail.SandboxError if it is not, or Died."""
        try:
            hello, _ = wire.receive_frame(self.sock, time.monotonic() + START_SECONDS)
        except wire.Closed:
            self.kill()
            raise Died from None
        except wire.WireError as error:
            hello = {"ok": False, "message": str(error)}
        if not hello["ok"]:
            self.kill()
            raise jail.SandboxError(f"A sandboxed process could not be locked in: {hello['message']}")
        return self

    def request(self, message, tensors=(), seconds=10.0):
        """Send a request, a dict or a wire.Encoded, and return `(reply, tensors)`.

        Raises Interrupted when it took longer than `seconds` but let itself be interrupted, and ChildGone when it had
        to be killed, died, or answered what is no answer.
        """
        self.number += 1
        made = message if isinstance(message, wire.Encoded) else wire.encoded(message, tensors)
        deadline = time.monotonic() + seconds
        try:
            wire.send(self.sock, made.numbered(self.number), deadline)
            reply, tensors = wire.receive_frame(self.sock, deadline)
        except wire.Late:
            return self._interrupt(seconds)
        except wire.Closed:
            raise self._gone() from None
        except wire.WireError as error:
            self.kill()
            raise ChildGone("killed", f"it answered what cannot be read: {error}") from None
        self._check_number(reply)
        return reply, tensors

    def _interrupt(self, seconds):
        try:
            signal.pidfd_send_signal(self.pidfd, signal.SIGINT)
            reply, _ = wire.receive_frame(self.sock, time.monotonic() + GRACE)
            self._check_number(reply)
        except (wire.WireError, ProcessLookupError):
            self.kill()
            raise ChildGone("timeout", f"it did not end within {seconds:g} s") from None
        raise Interrupted(f"it did not end within {seconds:g} s")

    def _check_number(self, reply):
        if reply.get("n") != self.number:
            self.kill()
            raise ChildGone("killed", "it answered a question that was not asked")

    def _gone(self):
        """Why the connection closed: the process ended by itself, or by a limit."""
        self.kill()
        ended = self.ended or {}
        number = ended.get("signal")
        spent = ended.get("cpu", 0) >= self.parent.limits.cpu_seconds
        if number == signal.SIGXCPU or (number == signal.SIGKILL and spent):
            return ChildGone("timeout", "it used up its processor time")
        if number == signal.SIGKILL or not ended:
            self.unexplained = True
            return ChildGone("killed", "its process was ended")
        if number:
            return ChildGone("killed", f"its process was ended by a signal ({signal.strsignal(number) or number})")
        return ChildGone("killed", "it ended its own process")

    def kill(self):
        """End the child; returns what it cost (`cpu` in seconds, `memory` in bytes), or None."""
        if self.ended is None:
            self.sock.close()
            try:
                if not self._finished(0.2):
                    signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)
            except ProcessLookupError:
                pass
            self.ended = self.parent.reap() or {}
            os.close(self.pidfd)
        return self.ended

    def _finished(self, seconds):
        """Whether the process ends by itself once its socket is closed; a pidfd is readable then."""
        return bool(select.select([self.pidfd], [], [], seconds)[0])
