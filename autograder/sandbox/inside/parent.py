"""The warm parent: imports what notebooks use once, then forks one locked-down child per request.

It knows no secret, and runs inside bubblewrap or, at the levels `process` and `unsafe`, without. Over its control
socket it gets `{"op": "fork"}` with one end of a socket pair attached, forks, and answers with the child's process id
and a pidfd. On `{"op": "reap"}` it waits for a child that has ended (or that the trusted side has killed), clears its
folder, and answers how it ended and what it cost.
"""

from __future__ import annotations

import base64
import contextlib
import gc
import json
import os
import resource
import secrets
import select
import signal
import socket
from typing import TYPE_CHECKING, NamedTuple

from . import exposed, lockdown

if TYPE_CHECKING:
    import types
    from collections.abc import Sequence
    from typing import Any

LOOK = 0.1  # seconds between two looks at what a child has taken
MOST_ENTRIES = 10_000  # files and folders that a child may have, where its file system is not its own
RESERVE = 2**30  # bytes that a child leaves free on such a file system, unless less than twice as much was free
SPARE_THREADS = 8  # for a child with a user that has other processes
PACKET, END = 2**15, b"\n"  # bytes that are sent at once at most, and what comes last; JSON here has no line break
SOCKET = 3  # the only descriptor that a child keeps, apart from /dev/null as 0, 1 and 2


def main(control_fd: int) -> None:
    """Serve `control_fd` until it closes. The first that comes there are the settings that `jail.py` makes."""
    control = socket.socket(fileno=control_fd)
    settings = receive_settings(control)
    if problem := _begin(settings):
        _send(control, {"ok": False, "message": problem})
        return
    gc.disable()  # nothing that is imported here will ever be garbage
    from . import child  # IPython, matplotlib; and torch below: this takes seconds, but only once

    lock = lockdown.Lockdown(
        bpf=base64.b64decode(settings["bpf"]),
        tgkill=settings["tgkill"],
        readable=settings["readable"],
        listable=settings["listable"],
        devices=settings["devices"],
        memory=settings["memory"],
        reserves=settings["reserves"],
        cpu_seconds=settings["cpu_seconds"],
        file_bytes=settings["file_bytes"],
    )
    child.warm_up(settings["torch"])
    gc.freeze()
    gc.enable()
    _send(control, {"ok": True})
    most = Most(settings["disk"], _taken("self") + settings["memory"] + SPARE if settings["reserves"] else None)
    pid, work, over = 0, settings["work"], ""
    counts_threads = settings["alone"] and settings["uid"] is None
    settings.clear()  # children inherit what this process knows
    while True:
        if pid and most != NOTHING_TO_WATCH:
            over = _watch(control, pid, work, most)
        message, descriptors = _receive(control)
        if message is None:
            return
        if message["op"] == "fork":
            if counts_threads:
                lock.threads = _processes_of_this_user() + SPARE_THREADS
            pid = _fork(control, descriptors[0], lock, child, work)
        elif message["op"] == "reap":
            _, status, usage = os.wait4(pid, 0)
            pid = 0
            clear(work)
            _send(
                control,
                {
                    "ok": True,
                    "signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0,
                    "exit": os.WEXITSTATUS(status) if os.WIFEXITED(status) else None,
                    "cpu": usage.ru_utime + usage.ru_stime,
                    "memory": usage.ru_maxrss * 1024,
                    "over": over,
                },
            )


def _begin(settings: dict[str, Any]) -> str | None:
    """Drop the rights that this process must not have; returns why no student code may run here, or None."""
    if settings["alone"]:
        lockdown.be_killed_first()
    if settings["uid"] is not None:
        lockdown.drop_user(settings["uid"], settings["gid"], settings["keep_reading"])
    elif settings["alone"]:
        lockdown.keep_capabilities([])
    lockdown.not_dumpable()  # after the change of user, which resets it
    if lockdown.landlock_version() < 1:
        return lockdown.NO_LANDLOCK
    hidden = set(map(tuple, settings.pop("secret") or ()))
    found = next((f for root in settings["scanned"] if (f := exposed.find(hidden, root))), None)
    return found and f"student code could read {found}, which is part of the kit or of a course: move it or remove it"


def _fork(control: socket.socket, descriptor: int, lock: lockdown.Lockdown, child: types.ModuleType, work: str) -> int:
    os.makedirs(work, mode=0o700, exist_ok=True)
    parent = os.getpid()
    pid = os.fork()
    if pid:
        os.close(descriptor)
        pidfd = os.pidfd_open(pid)
        _send(control, {"ok": True, "pid": pid}, [pidfd])
        os.close(pidfd)
        return pid
    try:
        lockdown.die_with(parent)
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
    vars(lock).clear()  # what runs here from now on may look through all objects


class Most(NamedTuple):
    """The bytes that a child may take where no limit of the kernel's holds it, and it has to be watched; None: any.

    `memory` is all of it, that others could see, too: where addresses are reserved without being used, not all of it
    has a limit.
    """

    disk: int | None
    memory: int | None


NOTHING_TO_WATCH = Most(None, None)
TAKEN = (b"RssAnon:", b"RssShmem:", b"VmSwap:", b"VmPTE:", b"HugetlbPages:")  # in /proc/PID/status, in kB
SPARE = 2**26  # bytes: memory of its own meets its limit first, and is refused


def _watch(control: socket.socket, pid: int, work: str, most: Most) -> str:
    """Wait for a message, and end the child if it takes more than it may; returns of what: "disk", "memory" or "".

    The folder is what it may fill. What it keeps in files that have no name any more shows only in what is left free.
    """
    reserve = min(RESERVE, _free(work) // 2)
    over = ""
    while not select.select([control], [], [], LOOK)[0]:
        if most.memory and not over and _taken(pid) > most.memory:
            over = "memory"
        if most.disk and not over and _holds_more(work, most.disk):
            over = "disk"
        if over or (most.disk and _free(work) < reserve):
            os.kill(pid, signal.SIGKILL)  # not reaped before it is asked for: the number is still its own
    return over


def _taken(pid: int | str) -> int:
    """The bytes of memory that a process takes, without files, and with its page tables; 0 if it has ended.

    Its first thread may have ended before the others, and then says nothing.
    """
    taken = 0
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{thread}/status", "rb") as file:
                taken = max(taken, sum(int(line.split()[1]) * 1024 for line in file if line.startswith(TAKEN)))
    return taken


def _free(folder: str) -> int:
    status = os.statvfs(folder)
    return status.f_bavail * status.f_frsize


def _holds_more(folder: str, most: int) -> bool:
    """Whether a folder takes more than `most` bytes, has more than MOST_ENTRIES entries, or some that cannot be listed.

    It changes meanwhile, at the will of its owner; that may mislead this function, which only counts.
    """
    size, entries, waiting = 0, 0, [folder]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as listed:
                for entry in listed:
                    status = entry.stat(follow_symlinks=False)
                    size, entries = size + status.st_blocks * 512, entries + 1
                    if size > most or entries > MOST_ENTRIES:
                        return True
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
        except FileNotFoundError:  # removed meanwhile
            pass
        except OSError:  # no right to list it, or too deep
            return True
    return False


def _processes_of_this_user() -> int:
    """How many processes and threads this user has, rounded up a little.

    Found by trying at which limit a process may be made: /proc does not show those in other containers, which count.
    """
    usual, most = resource.getrlimit(resource.RLIMIT_NPROC)

    def is_enough(limit: int) -> bool:
        resource.setrlimit(resource.RLIMIT_NPROC, (limit, most))
        try:
            if pid := os.fork():
                os.waitpid(pid, 0)
                return True
        except BlockingIOError:
            return False
        os._exit(0)

    low, high = 0, 64
    try:
        while (most == resource.RLIM_INFINITY or high < most) and not is_enough(high):
            low, high = high, 2 * high
        while high - low > 4:
            middle = (low + high) // 2
            low, high = (low, middle) if is_enough(middle) else (middle, high)
    finally:
        resource.setrlimit(resource.RLIMIT_NPROC, (usual, most))
    return high if most == resource.RLIM_INFINITY else min(high, most - SPARE_THREADS)


def clear(folder: str) -> None:
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


def send_settings(control: socket.socket, settings: dict[str, Any]) -> None:
    """Send a warm parent its settings, in as many packets as they need; the last one is empty of all but an end."""
    data = json.dumps(settings).encode()
    for start in range(0, len(data), PACKET):
        control.send(data[start : start + PACKET])
    control.send(END)


def receive_settings(control: socket.socket) -> dict[str, Any]:
    """What `send_settings` has sent. Raises EOFError if the other end is gone."""
    data = b""
    while (packet := control.recv(PACKET)) != END:
        if not packet:
            raise EOFError("no settings came")
        data += packet
    return json.loads(data)


def _send(control: socket.socket, message: dict[str, Any], descriptors: Sequence[int] = ()) -> None:
    socket.send_fds(control, [json.dumps(message).encode()], list(descriptors))


def _receive(control: socket.socket) -> tuple[dict[str, Any] | None, list[int]]:
    data, descriptors, _, _ = socket.recv_fds(control, 65536, 1)
    return (json.loads(data), descriptors) if data else (None, [])
