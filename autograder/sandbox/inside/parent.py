"""The warm parent: imports what notebooks use once, then forks one locked-down child per request.

It runs inside bubblewrap and knows no secret. Over its control socket it gets `{"op": "fork"}` with one end of a socket
pair attached, forks, and answers with the child's process id and a pidfd. On `{"op": "reap"}` it waits for a child that
has ended (or that the trusted side has killed), clears its folder, and answers how it ended and what it cost.
"""

from __future__ import annotations

import base64
import gc
import json
import os
import resource
import secrets
import signal
import socket
from typing import TYPE_CHECKING

from . import exposed, lockdown

if TYPE_CHECKING:
    import types
    from collections.abc import Sequence
    from typing import Any

SOCKET = 3  # the only descriptor that a child keeps, apart from /dev/null as 0, 1 and 2


def main(control_fd: int, settings: dict[str, Any]) -> None:
    """Serve `control_fd` until it closes. `settings`: the dict that `jail.py` wrote on the command line."""
    if settings["uid"] is not None:
        lockdown.drop_user(settings["uid"], settings["gid"])
    lockdown.not_dumpable()  # after the change of user, which resets it
    control = socket.socket(fileno=control_fd)
    if lockdown.landlock_version() < 1:
        _send(control, {"ok": False, "message": "the kernel has no Landlock (Linux 5.13 or later, enabled, has)"})
        return
    if settings["secret"] is not None and (found := exposed.find(set(map(tuple, settings["secret"])))):
        message = f"student code could read {found}, which is part of the kit or of a course: move it or remove it"
        _send(control, {"ok": False, "message": message})
        return
    gc.disable()  # nothing that is imported here will ever be garbage
    from . import child  # torch, IPython, matplotlib: this takes seconds, but only once

    lock = lockdown.Lockdown(
        bpf=base64.b64decode(settings["bpf"]),
        tgkill=settings["tgkill"],
        readable=settings["readable"],
        memory=settings["memory"],
        cpu_seconds=settings["cpu_seconds"],
        file_bytes=settings["file_bytes"],
    )
    child.warm_up()
    gc.freeze()
    gc.enable()
    _send(control, {"ok": True})
    pid, work = 0, settings["work"]
    while True:
        message, descriptors = _receive(control)
        if message is None:
            return
        if message["op"] == "fork":
            pid = _fork(control, descriptors[0], lock, child, work)
        elif message["op"] == "reap":
            _, status, usage = os.wait4(pid, 0)
            _clear(work)
            _send(
                control,
                {
                    "ok": True,
                    "signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0,
                    "exit": os.WEXITSTATUS(status) if os.WIFEXITED(status) else None,
                    "cpu": usage.ru_utime + usage.ru_stime,
                    "memory": usage.ru_maxrss * 1024,
                },
            )


def _fork(control: socket.socket, descriptor: int, lock: lockdown.Lockdown, child: types.ModuleType, work: str) -> int:
    os.makedirs(work, mode=0o700, exist_ok=True)
    pid = os.fork()
    if pid:
        os.close(descriptor)
        pidfd = os.pidfd_open(pid)
        _send(control, {"ok": True, "pid": pid}, [pidfd])
        os.close(pidfd)
        return pid
    try:
        _keep_only(descriptor)
        sock = socket.socket(fileno=SOCKET)
        try:
            _settle(lock, work)
        except BaseException as error:
            child.say_hello(sock, f"{type(error).__name__}: {error}")
            raise
        child.serve(sock)
    finally:
        os._exit(0)  # nothing may return into the parent's loop


def _keep_only(descriptor: int) -> None:
    """Close every descriptor but the child's own socket, which becomes SOCKET."""
    null = os.open("/dev/null", os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)
    if descriptor != SOCKET:
        os.dup2(descriptor, SOCKET)
    os.closerange(SOCKET + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[0])


def _settle(lock: lockdown.Lockdown, work: str) -> None:
    """Set the child's environment, enter its folder, which is the only place where it may write, and lock it down."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(work)
    os.environ.clear()
    os.environ.update(HOME=work, TMPDIR=work, PATH="/usr/bin:/bin", LANG="C.UTF-8", OMP_NUM_THREADS="1")
    lock.apply(work)


def _clear(folder: str) -> None:
    """Remove the child's folder. If this fails, the parent ends and the trusted side starts a new sandbox.

    Each inner folder is made accessible and moved up next to `folder` before it is emptied, because it may lie too deep
    for a path or for recursion.
    """
    waiting = [folder]
    while waiting:
        emptied = waiting.pop()
        for entry in list(os.scandir(emptied)):
            if entry.is_dir(follow_symlinks=False):
                os.chmod(entry.path, 0o700)
                waiting.append(f"{folder}.{len(waiting)}-{secrets.token_hex(4)}")
                os.rename(entry.path, waiting[-1])
            else:
                os.unlink(entry.path)
        os.rmdir(emptied)


def _send(control: socket.socket, message: dict[str, Any], descriptors: Sequence[int] = ()) -> None:
    socket.send_fds(control, [json.dumps(message).encode()], list(descriptors))


def _receive(control: socket.socket) -> tuple[dict[str, Any] | None, list[int]]:
    data, descriptors, _, _ = socket.recv_fds(control, 65536, 1)
    return (json.loads(data), descriptors) if data else (None, [])
