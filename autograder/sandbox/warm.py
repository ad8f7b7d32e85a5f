"""The trusted side of the sandbox: starts a warm parent, has it fork children, and talks to them under deadlines."""

import json
import logging
import os
import select
import signal
import socket
import subprocess
import tempfile
import time

from . import jail
from .inside import wire

START_SECONDS = 120.0
GRACE = 1.0  # seconds between an interrupt and the kill
ATTEMPTS = 3

log = logging.getLogger(__name__)


class ChildGone(Exception):
    """The child can no longer be talked to. `status` is "timeout" or "killed"; the message says what happened."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


class Died(Exception):
    """The sandbox, or a child that had not begun, has ended; it can be made anew."""


class Interrupted(Exception):
    """A request ran past its deadline and was interrupted; the child lives on."""


class WarmParent:
    """A sandbox with torch imported, from which `fork()` makes a fresh child in milliseconds.

    Use it as a context manager, or call `close()`. One child lives at a time.
    """

    def __init__(self, limits=None, device="cpu", unsafe=False):
        self.limits = limits or jail.Limits()
        self.device = device
        self.unsafe = unsafe
        self.process = None

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()

    def start(self):
        """Start the sandbox if it does not run. Raises jail.SandboxError with one sentence if it cannot."""
        if self.process is not None:
            return
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.folder = tempfile.TemporaryDirectory(prefix="autograder-") if self.unsafe else None
        command = jail.command(self.limits, theirs.fileno(), self.device, self.folder and self.folder.name)
        environment = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "OMP_NUM_THREADS": "1", "LANG": "C.UTF-8"}
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            pass_fds=[theirs.fileno()],
            env=environment,
            cwd="/",
            start_new_session=True,  # Ctrl-C is for the grader alone
        )
        theirs.close()
        self.control = ours
        try:
            answer, _ = self._answer(START_SECONDS)
        except OSError:
            answer = None
        if answer is None or not answer["ok"]:
            reason = answer["message"] if answer else self._last_words()
            self.close()
            raise jail.SandboxError(f"The sandbox did not start: {reason}")

    def close(self):
        """Stop the sandbox and whatever runs in it."""
        if self.process is not None:
            self.control.close()
            self.process.kill()  # --die-with-parent and the process namespace take the rest along
            self.process.wait()
            self.process.stderr.close()
            self.process = None
            if self.folder is not None:
                self.folder.cleanup()

    def fork(self):
        """A fresh, locked child. A sandbox or a child that dies meanwhile is made anew, a few times."""
        for left in reversed(range(ATTEMPTS)):
            try:
                self.start()
                return self._fork()
            except Died:
                log.warning("the sandbox died and is started again")
            except jail.SandboxError:
                if not left:
                    raise
        raise jail.SandboxError("The sandbox dies whenever it is asked for a child.")

    def _fork(self):
        """One child. Raises Died if that was the end of the sandbox."""
        ours, theirs = socket.socketpair()
        try:
            socket.send_fds(self.control, [json.dumps({"op": "fork"}).encode()], [theirs.fileno()])
            answer, descriptors = self._answer(START_SECONDS)
        except OSError:
            answer = None
        theirs.close()
        if answer is None:
            ours.close()
            self.close()
            raise Died
        return Child(self, ours, descriptors[0]).greeted()

    def reap(self):
        """Wait for the child that was killed: how it ended and what it cost, or None if the parent is gone."""
        try:
            self.control.send(json.dumps({"op": "reap"}).encode())
            answer, _ = self._answer(30.0)
        except OSError:
            answer = None
        if answer is None:
            self.close()
        return answer

    def _answer(self, seconds):
        ready, _, _ = select.select([self.control], [], [], seconds)
        if not ready:
            return None, []
        data, descriptors, _, _ = socket.recv_fds(self.control, 65536, 1)
        return (json.loads(data), descriptors) if data else (None, [])

    def _last_words(self):
        self.process.kill()
        lines = self.process.stderr.read()[-2000:].decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else "it said nothing"


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
        """Send a request, return `(reply, tensors)`.

        Raises Interrupted when it took longer than `seconds` but let itself be interrupted, and ChildGone when it had
        to be killed, died, or answered what is no answer.
        """
        self.number += 1
        deadline = time.monotonic() + seconds
        try:
            wire.send_frame(self.sock, {**message, "n": self.number}, tensors, deadline)
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
