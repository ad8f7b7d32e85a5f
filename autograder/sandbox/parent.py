"""The trusted side of the sandbox: starts a warm parent and has it fork children.

It imports nothing heavy: launching a sandbox takes seconds, and can so begin before the grader imports torch itself.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import select
import signal
import socket
import subprocess
from typing import TYPE_CHECKING, Any

from ..errors import Died, SandboxError
from ..verdict import FULL, PROCESS
from . import jail, process
from .inside.parent import send_settings

if TYPE_CHECKING:  # it imports torch
    from .child import Child

ATTEMPTS = 3

log = logging.getLogger(__name__)


class WarmParent:
    """A sandbox with torch imported, from which `fork()` makes a fresh child in milliseconds.

    Use it as a context manager, or call `close()`. One child lives at a time.
    """

    control: socket.socket  # only while the sandbox runs
    pidfd: int  # likewise
    folder: str  # empty at the full level: its sandbox has its own

    def __init__(self, limits: jail.Limits | None = None, device: str = "cpu", level: str = FULL) -> None:
        self.limits = limits or jail.Limits()
        self.device = device
        self.level = level
        self.process: subprocess.Popen[bytes] | None = None
        self.ready = False
        self.latest: int | None = None  # a pidfd of the child that was forked last, until that is reaped
        self.known_lacks: dict[str, str] | None = None  # None before there was a child

    def __enter__(self) -> WarmParent:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def launch(self) -> None:
        """Begin to start the sandbox, without waiting for it, unless it is running. Raises SandboxError."""
        if self.process is not None:
            return
        self.ready = False
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        uid = jail.user_of_its_own() if self.level in (FULL, PROCESS) else None
        if self.level == PROCESS and (problem := process.refusal(uid)):
            raise SandboxError(problem)
        self.folder = "" if self.level == FULL else process.folder(uid, jail.GID)
        command = jail.command(self.limits, theirs.fileno(), self.device, self.level)
        settings = jail.settings(self.limits, self.device, self.level, uid, self.folder)
        environment = {"PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1", "LANG": "C.UTF-8"}  # children can read it
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            pass_fds=[theirs.fileno()],
            env=environment,
            cwd="/",
            start_new_session=True,  # Ctrl-C should reach only the grader
        )
        self.pidfd = os.pidfd_open(self.process.pid)
        theirs.close()
        self.control = ours
        with contextlib.suppress(OSError):  # if it has ended already, `start` says why
            ours.settimeout(jail.START_SECONDS)
            send_settings(ours, settings)
        ours.settimeout(None)

    def start(self) -> None:
        """Start the sandbox, unless it is running, and wait for it. Raises SandboxError if it cannot be started."""
        self.launch()
        if self.ready:
            return
        try:
            answer, _ = self._answer(jail.START_SECONDS)
        except OSError:
            answer = None
        if answer is None or not answer["ok"]:
            reason = answer["message"] if answer else self._last_words()
            self.close()
            raise SandboxError(f"The sandbox did not start: {reason}")
        self.ready = True

    def is_gone(self) -> bool:
        """Whether the sandbox that was launched has ended."""
        return self.process is not None and self.process.poll() is not None

    def close(self) -> None:
        """Stop the sandbox and whatever runs in it."""
        if self.process is not None:
            self.control.close()
            # by the pidfd, since a process that was forked from the one that launched it may close it as well;
            # --die-with-parent and the process namespace, or `die_with`, end the rest with it
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)
            select.select([self.pidfd], [], [], jail.START_SECONDS)
            os.close(self.pidfd)
            self.process.wait()
            self._forget_child(seconds=jail.START_SECONDS)
            if self.process.stderr is not None:
                self.process.stderr.close()
            self.process = None
            if self.folder:
                process.clear(self.folder)

    def fork(self) -> Child:
        """A fresh, locked child. If the sandbox or the child dies meanwhile, it is started again, a few times."""
        for left in reversed(range(ATTEMPTS)):
            try:
                self.start()
                return self._fork()
            except Died:
                log.warning("the sandbox died and is restarted")
            except SandboxError:
                if not left:
                    raise
        raise SandboxError("The sandbox dies each time it is asked for a child.")

    def _fork(self) -> Child:
        """Fork one child. Raises Died if the sandbox or the child dies."""
        from .child import Child  # imports torch

        ours, theirs = socket.socketpair()
        try:
            socket.send_fds(self.control, [json.dumps({"op": "fork"}).encode()], [theirs.fileno()])
            answer, descriptors = self._answer(jail.START_SECONDS)
        except OSError:
            answer = None
        theirs.close()
        if answer is None:
            ours.close()
            self.close()
            raise Died
        self._forget_child()
        self.latest = os.dup(descriptors[0])
        child = Child(self, ours, descriptors[0]).greeted()
        self.known_lacks = child.lacks
        return child

    @property
    def lacks(self) -> dict[str, str]:
        """What torch can't do in a child here: the names of dtypes, and what torch says. Raises SandboxError.

        Asked of a child of its own if there was none before.
        """
        if self.known_lacks is None:
            self.fork().kill()
        return self.known_lacks or {}

    def reap(self) -> dict[str, Any] | None:
        """Wait for the child that has ended: how it ended and what it cost, or None if the parent is gone."""
        try:
            self.control.send(json.dumps({"op": "reap"}).encode())
            answer, _ = self._answer(30.0)
        except OSError:
            answer = None
        if answer is None:
            self.close()
        self._forget_child()
        return answer

    def _forget_child(self, seconds: float = 0.0) -> None:
        """Close the pidfd of the latest child, after it has ended or so many seconds."""
        if self.latest is not None:
            select.select([self.latest], [], [], seconds)
            os.close(self.latest)
            self.latest = None

    def _answer(self, seconds: float) -> tuple[dict[str, Any] | None, list[int]]:
        ready, _, _ = select.select([self.control], [], [], seconds)
        if not ready:
            return None, []
        data, descriptors, _, _ = socket.recv_fds(self.control, 65536, 1)
        return (json.loads(data), descriptors) if data else (None, [])

    def _last_words(self) -> str:
        if self.process is None or self.process.stderr is None:
            return "it was not started"
        self.process.kill()
        lines = self.process.stderr.read()[-2000:].decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else "it said nothing"
