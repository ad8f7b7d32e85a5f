"""Locks the calling process down: no privileges, resource limits, Landlock, and a list of allowed system calls.

`Lockdown.apply()` is called in a child before it has a second thread, because Landlock and seccomp bind only the
calling thread and whatever that starts.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long
_libc.prctl.restype = ctypes.c_int

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_KEEPCAPS, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 1, 4, 8, 22, 38
CAP_DAC_READ_SEARCH = 2
SECCOMP_MODE_FILTER = 2
OPEN_FILES = 256
THREADS = 10  # see Lockdown
NICENESS = 5  # each thread gets a third of the processor time of an ordinary competing thread
SECCOMP_ALLOW, SECCOMP_ERRNO, EPERM = 0x7FFF0000, 0x00050000, 1


NO_LANDLOCK = (
    "Landlock is not available: the kernel lacks it (Linux 5.13 or later, switched on, has it), or this container's "
    "filter of system calls blocks it"
)


class LockdownError(Exception):
    """This kernel cannot give a protection that grading needs."""


# --- seccomp ----------------------------------------------------------------------------------------


def only_own_signals(pid: int, tgkill: int) -> bytes:
    """A second filter, as BPF: `tgkill` reaches only this process. Filters stack, and the strictest answer counts."""
    load, jump_equal, answer = 0x20, 0x15, 0x06
    return b"".join(
        struct.pack("=HBBI", *instruction)
        for instruction in (
            (load, 0, 0, 0),  # the call's number
            (jump_equal, 0, 3, tgkill),  # another call: to the last line
            (load, 0, 0, 16),  # the lower half of its first argument
            (jump_equal, 1, 0, pid),
            (answer, 0, 0, SECCOMP_ERRNO | EPERM),
            (answer, 0, 0, SECCOMP_ALLOW),
        )
    )


class _SockFprog(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


def load_filter(bpf: bytes) -> None:
    """Install a compiled filter for this thread and all that it starts later."""
    buffer = ctypes.create_string_buffer(bpf, len(bpf))
    program = _SockFprog(len(bpf) // 8, ctypes.addressof(buffer))
    if _libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0) != 0:
        raise LockdownError("the kernel refused the seccomp filter")


# --- Landlock -------------------------------------------------------------------------------------

_SYS_CREATE, _SYS_ADD_RULE, _SYS_RESTRICT = 444, 445, 446
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
_READ = _READ_FILE | _READ_DIR
# removing, and making folders, regular files and links; no devices, FIFOs or sockets
_WRITE = _WRITE_FILE | (1 << 4) | (1 << 5) | (1 << 7) | (1 << 8) | (1 << 12) | _REFER | _TRUNCATE
_SCOPES = 0b11  # abstract sockets and signals


def landlock_version() -> int:
    """The kernel's Landlock ABI version, or 0 if it has no Landlock."""
    return max(0, _libc.syscall(_SYS_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(1)))


def landlock(
    readable: Iterable[str], writable: Iterable[str], listable: Iterable[str] = (), devices: Iterable[str] = ()
) -> None:
    """Allow reading below `readable`, reading and writing below `writable`, and nothing else on any file system.

    Below `listable`, the names of files may be read, but not what the files hold. The drivers of `devices` may be
    talked to.
    """
    version = landlock_version()
    if version < 1:
        raise LockdownError("the kernel has no Landlock")
    handled = (1 << 13) - 1  # all access rights of version 1
    handled |= _REFER if version >= 2 else 0
    handled |= _TRUNCATE if version >= 3 else 0
    handled |= _IOCTL_DEV if version >= 5 else 0
    network = 0b11 if version >= 4 else 0  # bind and connect, over TCP
    scopes = _SCOPES if version >= 6 else 0
    attributes = struct.pack("=QQQ", handled, network, scopes)[: 24 if version >= 6 else 16 if version >= 4 else 8]
    ruleset = _libc.syscall(_SYS_CREATE, attributes, ctypes.c_size_t(len(attributes)), ctypes.c_uint32(0))
    if ruleset < 0:
        raise LockdownError("the kernel refused a Landlock ruleset")
    for access, paths in (
        (_READ, readable),
        (_READ_DIR, listable),
        (_READ | _WRITE, writable),
        (_READ | _WRITE_FILE | _TRUNCATE | _IOCTL_DEV, devices),
    ):
        for path in paths:
            if not os.path.exists(path):
                continue
            allowed = access & handled
            if not os.path.isdir(path):
                allowed &= _READ_FILE | _WRITE_FILE | _TRUNCATE | _IOCTL_DEV
            descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
            rule = struct.pack("=Qi", allowed, descriptor)
            if _libc.syscall(_SYS_ADD_RULE, ruleset, ctypes.c_int(1), rule, ctypes.c_uint32(0)) != 0:
                raise LockdownError(f"Landlock refused a rule for {path}")
            os.close(descriptor)
    if _libc.syscall(_SYS_RESTRICT, ruleset, ctypes.c_uint32(0)) != 0:
        raise LockdownError("Landlock could not be applied")
    os.close(ruleset)


# --- the lockdown ---------------------------------------------------------------------------------


class Lockdown:
    """The restrictions of a child: the compiled system call filter, the readable paths, and the limits, for one child.

    A child that `reserves` addresses, as CUDA does, far more than it uses, is limited in its own memory instead.
    `threads` limits those of the sandbox's user: one for the warm parent, one for bubblewrap unless root runs it, and
    eight for the child, enough for a pool of four, a progress bar and whatever else a notebook starts. That many
    threads would slow down other processes on the same processor as many times, so a child is nice: others go first,
    above all the grading process.
    """

    def __init__(
        self,
        bpf: bytes,
        tgkill: int,
        readable: Sequence[str],
        listable: Sequence[str],
        devices: Sequence[str],
        memory: int,
        reserves: bool,
        cpu_seconds: int,
        file_bytes: int,
        open_files: int = OPEN_FILES,
        threads: int = THREADS,
    ) -> None:
        self.bpf = bpf
        self.tgkill = tgkill
        self.readable = readable
        self.listable = listable
        self.devices = devices
        self.memory = memory
        self.reserves = reserves
        self.cpu_seconds = cpu_seconds
        self.file_bytes = file_bytes
        self.open_files = open_files
        self.threads = threads

    def apply(self, folder: str) -> None:
        """Lock this process down for good; `folder` is the only place where it may write."""
        if len(os.listdir("/proc/self/task")) != 1:
            raise LockdownError("a thread is running before the lock: it would stay outside")
        _libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        _libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
        _let_others_go_first()  # now, since threads that already run would keep their priority
        for kind, limit in (
            (resource.RLIMIT_CORE, 0),
            self._memory(),
            (resource.RLIMIT_CPU, self.cpu_seconds),
            (resource.RLIMIT_FSIZE, self.file_bytes),
            (resource.RLIMIT_NOFILE, self.open_files),
            (resource.RLIMIT_NPROC, self.threads),
            (resource.RLIMIT_SIGPENDING, 64),  # counted per user, like threads
            (resource.RLIMIT_MEMLOCK, 0),
            (resource.RLIMIT_MSGQUEUE, 0),
        ):
            _limit(kind, limit)
        landlock(self.readable, [folder, "/dev/null"], self.listable, self.devices)
        load_filter(only_own_signals(os.getpid(), self.tgkill))
        load_filter(self.bpf)

    def _memory(self) -> tuple[int, int]:
        """The limit beyond what the imports take: of addresses, or, where those are reserved, of its own memory."""
        with open("/proc/self/statm") as file:
            addresses, *_, own, _ = (int(pages) * resource.getpagesize() for pages in file.read().split())
        if self.reserves:
            return resource.RLIMIT_DATA, own + self.memory
        return resource.RLIMIT_AS, addresses + self.memory


def _limit(kind: int, limit: int) -> None:
    """Set a limit for good; where this process may not have as much, to what it may have."""
    most = resource.getrlimit(kind)[1]
    limit = limit if most == resource.RLIM_INFINITY else min(limit, most)
    resource.setrlimit(kind, (limit, limit))


def _let_others_go_first() -> None:
    """Be nice and use batch scheduling. If the grader was started even nicer, that stays."""
    os.setpriority(os.PRIO_PROCESS, 0, max(NICENESS, os.getpriority(os.PRIO_PROCESS, 0)))
    if os.sched_getscheduler(0) != os.SCHED_IDLE:
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


def drop_user(uid: int, gid: int, keep_reading: bool = False) -> None:
    """Give up root for good, and its capabilities with it, if this process has it.

    With `keep_reading` one of them stays, which lets Python read packages that lie in root's own folders; what else it
    would open, Landlock and the list of system calls keep shut.
    """
    if os.geteuid() == 0:
        _libc.prctl(PR_SET_KEEPCAPS, int(keep_reading), 0, 0, 0)
        os.setgroups([])
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)
        keep_capabilities([CAP_DAC_READ_SEARCH] if keep_reading else [])


def keep_capabilities(kept: Iterable[int]) -> None:
    """Give up all capabilities but these, which this process must have. Raises LockdownError."""
    mask = sum(1 << number for number in kept)
    header = struct.pack("=Ii", 0x20080522, 0)  # version 3, this process
    sets = b"".join(struct.pack("=III", mask >> shift & 0xFFFFFFFF, mask >> shift & 0xFFFFFFFF, 0) for shift in (0, 32))
    if _libc.capset(header, sets) != 0:
        raise LockdownError("the kernel does not let capabilities be given up")


def die_with(parent: int) -> None:
    """Have this process, a child of `parent`, killed when that ends: without a namespace, nothing else would end it."""
    _libc.prctl(PR_SET_PDEATHSIG, 9, 0, 0, 0)
    if os.getppid() != parent:  # it has ended already
        os._exit(0)


def be_killed_first() -> None:
    """When the machine or the container runs out of memory, let the kernel choose this process and its children.

    Must come before a change of user and `not_dumpable`, after which only root may write this.
    """
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")


def not_dumpable() -> None:
    """Keep processes of the same user from tracing this one or reading its memory, and have it die with its parent."""
    _libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    _libc.prctl(PR_SET_PDEATHSIG, 9, 0, 0, 0)
