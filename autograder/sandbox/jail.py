"""The command that starts a sandbox, with its view of this machine; and whether a sandbox can be made at all."""

import base64
import contextlib
import glob
import os
import re
import resource
import secrets
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from .. import course
from ..errors import SandboxError
from ..verdict import FULL, PROCESS, UNSAFE
from . import process, seccomp, view
from .inside import lockdown

# The user and group that student code runs as if the grader is root: nobody's group, and a separate user for each
# sandbox, from the ranges that systemd leaves free or reserves for such users. Thread limits count per user, so two
# sandboxes with the same user would starve each other; a wide range, tried first, makes that unlikely.
UIDS, GID = (range(0x70000000, 0x7FFFFFFF), range(61184, 65520)), 65534
KIT = "/kit/autograder_inside"  # where the modules in inside/ are mounted
START_SECONDS = 120.0  # within which a sandbox is there, or a child of it
NEEDED = "0.8"  # bubblewrap's version: it has --disable-userns, and --size, which is older
# settings that allow user namespaces to root alone: (path, the value that forbids them, a value that allows them)
SWITCHES = (
    ("kernel/unprivileged_userns_clone", "0", "1"),
    ("kernel/apparmor_restrict_unprivileged_userns", "1", "0"),
    ("user/max_user_namespaces", "0", "10000"),
)
OF_A_CONTAINER = (
    "use --sandbox process, which docs/security.md describes, or allow them (with Docker or Podman: "
    "--cap-add SYS_ADMIN --security-opt seccomp=unconfined --security-opt apparmor=unconfined "
    "--security-opt systempaths=unconfined), or grade outside of it"
)
CPU = "/sys/devices/system/cpu"  # describes the processor
# what CUDA reads as it starts; of processes, its own alone
# /dev/zero only there: mapped as shared, it is memory that nothing counts
OF_CUDA = ["/dev/zero", "/proc/self", "/proc/cpuinfo", "/proc/devices", "/proc/driver/nvidia", "/proc/sys/vm", CPU]


@dataclass(frozen=True)
class Limits:
    """The resources that one submission may use, in bytes and seconds.

    Time spent waiting for a processor does not count towards `cell`, `call`, `exercise` and `notebook` (see
    `child.Child`). `submission` is measured by the clock and covers the whole grading, with all its attempts.
    """

    memory: int = 4 * 2**30  # beyond what the imports take
    file_bytes: int = 64 * 2**20
    disk: int = 256 * 2**20
    cpu_seconds: int = 300
    cell: float = 20.0
    call: float = 10.0
    exercise: float = 60.0
    notebook: float = 240.0
    submission: float = 300.0


def command(limits: Limits, control_fd: int, device: str = "cpu", level: str = FULL) -> list[str]:
    """The argument list that starts a warm parent, with `control_fd` inherited. Raises SandboxError.

    It says nothing that student code may not know, which can read it in `sys.orig_argv`: `settings` are sent.
    """
    python = [os.path.abspath(sys.executable), "-I", "-B", "-X", "utf8"]
    kit, name = os.path.split(KIT if level == FULL else view.INSIDE)
    start = f"import sys; sys.path.insert(0, {kit!r}); from {name} import parent; parent.main(int(sys.argv[1]))"
    program = [*python, "-c", start, str(control_fd)]
    return [*_bubblewrap(limits, device, view.of_this_machine()), *program] if level == FULL else program


def settings(
    limits: Limits, device: str = "cpu", level: str = FULL, uid: int | None = None, folder: str = ""
) -> dict[str, Any]:
    """What a warm parent must know: whom to become, what is readable, the limits. It goes over the control socket.

    Below the full level bubblewrap is not used: the warm parent works in `folder`, which is empty and belongs to the
    user `uid`, if that is given; Landlock, seccomp and the limits are all other protection.
    """
    seen = view.of_this_machine()
    full, alone = level == FULL, level == PROCESS
    memory = process.room(limits.memory) if alone else limits.memory
    readable, listable = process.readable(seen) if alone else (seen.shown, [])
    return {
        "uid": uid,
        "gid": GID,
        "keep_reading": alone and uid is not None and process.must_keep_reading(),
        "alone": alone,
        "secret": None if level == UNSAFE else view.secret_inodes(),
        "scanned": ["/"] if full else readable if alone else [],
        "torch": course.imports_torch(),
        "work": os.path.join("/tmp" if full else folder, "work"),
        "disk": limits.disk if alone else None,
        "readable": [*readable, *_more_readable(KIT if full else view.INSIDE, device)],
        "listable": listable,
        # CUDA names its threads in /proc, and does not start where it cannot
        "devices": [*_devices(device), "/proc/self/task"] if device == "cuda" else [],
        "memory": memory,
        "reserves": device == "cuda",  # far more address space than it uses
        "bpf": base64.b64encode(seccomp.compile_filter(gpu=device == "cuda", mounts=not alone)).decode(),
        "tgkill": seccomp.number_of("tgkill"),
        "cpu_seconds": limits.cpu_seconds,
        "file_bytes": limits.file_bytes,
    }


def lowered(limits: Limits | None = None) -> list[str]:
    """A sentence for each limit of this process that gives submissions less than they should have."""
    limits = limits or Limits()
    wanted = (
        ("v", resource.RLIMIT_AS, limits.memory, 2**10, "kB of memory"),
        ("t", resource.RLIMIT_CPU, limits.cpu_seconds, 1, "s of processor time"),
        ("f", resource.RLIMIT_FSIZE, limits.file_bytes, 2**10, "kB in a file"),
        ("n", resource.RLIMIT_NOFILE, lockdown.OPEN_FILES, 1, "open files"),
        ("u", resource.RLIMIT_NPROC, lockdown.THREADS, 1, "threads"),
    )
    said = []
    for letter, kind, most, unit, what in wanted:
        hard = resource.getrlimit(kind)[1]
        if hard != resource.RLIM_INFINITY and hard < most:
            said.append(
                f"`ulimit -H{letter}` is {hard // unit} here, so submissions get fewer than their {most // unit} {what}"
                ": raise it, and grade again"
            )
    return said


def own_level() -> str:
    """The level for the course's own code, which can be trusted: the full one, or none where there is no sandbox."""
    return FULL if refusal() is None else UNSAFE


def _bubblewrap(limits: Limits, device: str, seen: view.View) -> list[str]:
    program = shutil.which("bwrap")
    if program is None:
        raise SandboxError(
            "Grading needs bubblewrap to run student code safely, and it is not installed: "
            "`apt-get install bubblewrap` (or --unsafe, on a machine where nothing can be lost)."
        )
    arguments = [program, "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    if user_of_its_own() is not None:  # the parent gives up root itself, once it has started
        arguments += ["--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    else:
        arguments += ["--unshare-user", "--disable-userns", "--cap-drop", "ALL"]
    arguments += ["--die-with-parent", "--new-session", "--hostname", "sandbox", "--clearenv"]
    for name, value in (("PATH", "/usr/bin:/bin"), ("HOME", "/tmp"), ("LANG", "C.UTF-8"), ("OMP_NUM_THREADS", "1")):
        arguments += ["--setenv", name, value]
    # mounted first, because other mounts may lie below it: a course may have been unpacked in /tmp
    arguments += ["--perms", "1777", "--size", str(limits.disk), "--tmpfs", "/tmp"]
    arguments += _mounts(seen)
    arguments += ["--ro-bind", view.INSIDE, KIT, "--proc", "/proc", "--dev", "/dev"]
    arguments += ["--ro-bind-try", CPU, CPU]  # torch reads it when it starts
    for path in _devices(device):
        arguments += ["--dev-bind", path, path]
    arguments += ["--perms", "0755", "--size", "4096", "--tmpfs", "/dev/shm", "--remount-ro", "/dev/shm"]
    return [*arguments, "--chdir", "/tmp", "--"]


def _mounts(seen: view.View) -> list[str]:
    """The arguments that show and hide what a View says."""
    arguments, covers, made = [], [], {"/"}
    for path in view.in_order([*seen.marks, *seen.links, KIT, CPU]):
        # made explicitly, because only root could enter the folders that bubblewrap makes by itself
        for folder in map(str, reversed(PurePath(path).parents)):
            if folder not in made and not seen.shows(folder):
                arguments += ["--perms", "0755", "--dir", folder]
                made.add(folder)
        if path in seen.links:
            arguments += ["--symlink", seen.links[path], path]
        elif seen.marks.get(path):
            arguments += ["--ro-bind", path, path]
        elif path in seen.marks and os.path.isdir(path):
            arguments += ["--perms", "0755", "--size", "4096", "--tmpfs", path]
            covers += ["--remount-ro", path]
            made.add(path)
        elif path in seen.marks:
            arguments += ["--ro-bind", os.devnull, path]
    return [*arguments, *covers]  # covers become read-only after the mounts below them are in place


def _more_readable(kit: str, device: str) -> list[str]:
    """What Landlock lets a child read besides a View: less than bubblewrap shows, and neither /proc nor all of /etc."""
    paths = ["/dev/urandom", "/dev/random", kit]
    return [*paths, *OF_CUDA] if device == "cuda" else paths


def _devices(device: str) -> list[str]:
    """The driver's files through which a GPU is used; none for the CPU."""
    return sorted(glob.glob("/dev/nvidia*")) if device == "cuda" else []


def user_of_its_own() -> int | None:
    """A user id that nobody else has, if this process may become any user; else None, for a user namespace."""
    if os.geteuid() != 0:
        return None
    with open("/proc/self/uid_map") as file:
        mapped = [range(first, first + count) for first, _, count in (map(int, line.split()) for line in file)]
    for users in UIDS:
        if any(users[0] in some and users[-1] in some for some in mapped):
            return secrets.choice(users)
    return None


# --- why there can be no sandbox ------------------------------------------------------------------


def refusal(level: str = FULL) -> str | None:
    """A sentence saying why there can be no sandbox of that level here, or None. May start bubblewrap for a moment."""
    if level != FULL:
        return process.refusal(user_of_its_own()) if level == PROCESS else None
    try:
        arguments = _bubblewrap(Limits(), "cpu", view.of_this_machine())
    except SandboxError as error:
        return str(error)
    true = next(path for path in ("/usr/bin/true", "/bin/true") if os.path.exists(path))
    arguments[-1:] = ["--ro-bind", true, "/true", "--", "/true"]
    code, said = _said_by(arguments)
    if code == 0:
        return None
    reason = (said.splitlines() or ["no reason given"])[-1]
    return (
        f"Grading needs bubblewrap to run student code safely, and here it fails ({reason}): {_advice(said)} "
        "(or use --unsafe, on a machine where nothing can be lost)."
    )


def _said_by(arguments: list[str]) -> tuple[int | None, str]:
    """Run a short command: (exit code or None, its output or, if it failed, its error output)."""
    try:
        done = subprocess.run(arguments, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired) as error:
        return None, str(error).replace(str(arguments), arguments[0])
    return done.returncode, (done.stderr.strip() if done.returncode else done.stdout.strip())


def _advice(said: str) -> str:
    """Advice for this user and this machine, given what bubblewrap said when it failed."""
    if "nknown option" in said:
        _, version = _said_by(["bwrap", "--version"])
        found = re.search(r"\d[\d.]*", version)
        return f"{NEEDED} or later is needed{f', but this is {found[0]}' if found else ''}: install a newer one"
    if not re.search("not permitted|ermission|namespace|denied", said):
        return "fix that first"
    if os.geteuid() == 0:
        return f"here not even root may make namespaces and mounts, as in most containers; {OF_A_CONTAINER}"
    for path, forbids, allows in SWITCHES:
        with contextlib.suppress(OSError), open(os.path.join("/proc/sys", path)) as file:
            if file.read().strip() == forbids:
                name = path.replace("/", ".")
                return f"{name} is {forbids}, so that only root may do this; let root run `sysctl -w {name}={allows}`"
    return f"here an ordinary user may not make user namespaces and mounts in them; in a container, {OF_A_CONTAINER}"
