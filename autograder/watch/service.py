"""Lends the warm sandbox of a running `autograder watch` to `autograder check`, over a socket of the same user's.

A request is one line of JSON, `{"path", "exercise", "seed"}`, and the answer one line, `{"verdict", "blank"}`. `check`
does not read the file itself, so both are of what was graded. Before that the server says READY, so that nobody waits
for one that is busy or asleep. The name of the socket holds a hash of all that both must have in common, so that there
is nothing to agree on. Whatever is not as it should be, `check` grades alone.

Other users can neither ask nor answer: the folder is this user's and closed to others, and each side asks the kernel
who the other one is.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import socket
import stat
import struct
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from .. import course
from ..errors import KitError
from ..report import lesson
from ..verdict import Verdict, VerdictError

if TYPE_CHECKING:  # it imports torch
    from ..grading.grader import Grader
    from ..report.lesson import Blank

READY = b"ready\n"
SOON = 1.5  # seconds within which a server says READY, and a client its request; a sandbox of one's own takes longer
LONGEST = 330.0  # seconds for a verdict: the limit of a submission, and some more
MOST_ASKED = 2**16  # bytes of a request
MOST_ANSWERED = 2**25  # bytes of an answer
SEEDS = range(-(2**63), 2**63)  # those that are passed on


class _Refused(KitError):
    """The other side is not as it should be."""


class Service:
    """Grades for others, between the gradings of its own; `socket` is what it listens at, or None.

    It listens only if no other watch does so for the same course. Use it as a context manager.
    """

    def __init__(self, device: str, sandbox: str) -> None:
        self.socket: socket.socket | None = None
        self.lock: int | None = None
        self.path: Path | None = None
        with contextlib.suppress(OSError, _Refused):
            self._listen(device, sandbox)

    def _listen(self, device: str, sandbox: str) -> None:
        path = _folder(make=True) / _name(device, sandbox)
        self.lock = os.open(path.with_suffix(".lock"), os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # the kernel takes it back, however this process ends
        path.unlink(missing_ok=True)  # left behind by one that was killed
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            listening.bind(str(path))
            listening.listen(8)
            listening.settimeout(SOON)
        except OSError:
            listening.close()
            raise
        self.path, self.socket = path, listening

    def __enter__(self) -> Service:
        return self

    def __exit__(self, *exc: object) -> None:
        if self.socket is not None:
            self.socket.close()
        if self.path is not None:
            with contextlib.suppress(OSError):
                self.path.unlink()
        if self.lock is not None:
            os.close(self.lock)
            self.lock = None

    def answer(self, grader: Grader) -> None:
        """Serve one client that has connected. A client that is not as it should be gets no answer."""
        if self.socket is None:
            return
        with contextlib.suppress(OSError, _Refused, ValueError, RecursionError):
            client, _ = self.socket.accept()
            with client:
                _require_same_user(client)
                client.settimeout(SOON)
                client.sendall(READY)
                path, exercise, seed = _request(json.loads(_line(client, MOST_ASKED)))
                graded = grader.grade_file(path, exercise, seed)
                answer = {"verdict": graded.verdict.to_dict(), "blank": lesson.blank_in(graded)}
                client.sendall(json.dumps(answer).encode() + b"\n")


def _request(asked: object) -> tuple[str, str | None, int]:
    """(path, exercise, seed) of a request. Raises _Refused."""
    if not isinstance(asked, dict) or asked.keys() != {"path", "exercise", "seed"}:
        raise _Refused("this is not a request")
    path, exercise, seed = asked["path"], asked["exercise"], asked["seed"]
    if not isinstance(path, str) or not os.path.isabs(path) or "\0" in path:
        raise _Refused("this is not a path")
    if exercise is not None and (not isinstance(exercise, str) or exercise not in course.exercises()):
        raise _Refused("this is not an exercise")
    if type(seed) is not int or seed not in SEEDS:
        raise _Refused("this is not a seed")
    return path, exercise, seed


def verdict_by_watch(
    path: str, exercise: str | None, seed: int, device: str, sandbox: str
) -> tuple[Verdict, list[Blank]] | None:
    """The Verdict on a file, and its blank answers, by a watch that runs.

    None if none does, or if anything is not as it should be.
    """
    if seed not in SEEDS:
        return None
    try:
        place = _folder() / _name(device, sandbox)
        if not _is_own(os.lstat(place), stat.S_ISSOCK):
            return None
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
            server.settimeout(SOON)
            server.connect(str(place))
            _require_same_user(server)
            if _line(server, len(READY)) + b"\n" != READY:
                return None
            asked = {"path": os.path.join(os.getcwd(), path), "exercise": exercise, "seed": seed}
            server.sendall(json.dumps(asked).encode() + b"\n")
            server.settimeout(LONGEST)
            verdict, blank = _answer(json.loads(_line(server, MOST_ANSWERED)))
    except (OSError, _Refused, VerdictError, ValueError, RecursionError):
        return None
    if verdict.seed != seed or (exercise and [e.exercise for e in verdict.exercises] != [exercise]):
        return None
    verdict.path = path
    return verdict, blank


def _answer(given: object) -> tuple[Verdict, list[Blank]]:
    """(the Verdict, what is blank) of an answer. Raises _Refused or VerdictError."""
    if not isinstance(given, dict) or given.keys() != {"verdict", "blank"} or not isinstance(given["blank"], list):
        raise _Refused("this is not an answer")
    for one in given["blank"]:
        if not isinstance(one, dict) or one.keys() != {"id", "message"} or {*map(type, one.values())} != {str}:
            raise _Refused("this is not what is blank")
    return Verdict.from_dict(given["verdict"]), given["blank"]


def _line(sock: socket.socket, most: int) -> bytes:
    """The bytes up to the end of a line, of at most `most` with that end. Raises _Refused if there is no such line."""
    data = bytearray()
    while not data.endswith(b"\n"):
        got = sock.recv(min(2**16, most - len(data)))  # no more than a line is ever sent
        if not got:
            raise _Refused("it ended in the middle of a line")
        data += got
    return bytes(data[:-1])


def _folder(make: bool = False) -> Path:
    """The folder of this user's sockets, which no other user may enter. Raises OSError or _Refused if it is not so."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    if os.path.isabs(runtime):
        folder = Path(runtime) / "autograder"
    else:  # as in most containers
        folder = Path(tempfile.gettempdir()) / f"autograder-{os.geteuid()}"
    if make:
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=0o700)
    if not _is_own(os.lstat(folder), stat.S_ISDIR, closed=True):
        raise _Refused("the folder of sockets is not this user's alone")
    return folder


def _is_own(status: os.stat_result, is_kind: object, closed: bool = False) -> bool:
    """Whether a file is of that kind and this user's own; `closed`: and nobody else may do anything with it."""
    kind = callable(is_kind) and is_kind(status.st_mode)
    return bool(kind) and status.st_uid == os.geteuid() and not (closed and status.st_mode & 0o077)


def _name(device: str, sandbox: str) -> str:
    """The socket's name: a hash of everything that the verdicts of both sides could depend on."""
    from ..grading.store import course_version

    same = [sys.prefix, sys.version, str(course.PACKAGE), str(course.root()), course_version(), device, sandbox]
    return f"{hashlib.sha256(json.dumps(same).encode()).hexdigest()[:20]}.sock"


def _require_same_user(sock: socket.socket) -> None:
    """Raises _Refused unless the process at the other end belongs to this user."""
    _, user, _ = struct.unpack("3i", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")))
    if user != os.geteuid():
        raise _Refused("it belongs to another user")
