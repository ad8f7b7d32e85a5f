"""The bubblewrap command line: what of this machine a sandbox gets to see, and whether there can be one at all."""

import base64
import glob
import json
import os
import secrets
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import PurePath

from . import seccomp

# Who student code runs as when the grader is root: nobody's group, and a user of each sandbox's own, from the range
# that systemd keeps for such users. Limits on threads count per user: with one for all, one would starve the others.
UIDS, GID = range(61184, 65520), 65534
INSIDE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "inside")
KIT = "/kit/autograder_inside"  # where the modules of `inside` are bound
PYTHON_PARTS = ("bin", "lib", "lib32", "lib64", "pyvenv.cfg")  # what an environment needs of its folder to run
CPU = "/sys/devices/system/cpu"  # what kind of processor this is


class SandboxError(Exception):
    """There is no sandbox on this machine; the message says what to do."""


@dataclass(frozen=True)
class Limits:
    """What one submission may use, in bytes and seconds.

    Of `cell`, `call`, `exercise` and `notebook`, time in which it waited for a processor does not count (see
    `talk.Child`). `submission` is by the clock, over everything that grading it takes, however often it is begun anew.
    """

    memory: int = 4 * 2**30
    file_bytes: int = 64 * 2**20
    disk: int = 256 * 2**20
    cpu_seconds: int = 300
    cell: float = 20.0
    call: float = 10.0
    exercise: float = 60.0
    notebook: float = 240.0
    submission: float = 300.0


def command(limits, control_fd, device="cpu", unsafe=None):
    """The argument list that starts a warm parent, with `control_fd` inherited. Raises SandboxError.

    `unsafe` names an empty folder to work in: then there is no bubblewrap, and Landlock, seccomp and limits are all.
    """
    python = [os.path.abspath(sys.executable), "-I", "-B", "-X", "utf8"]
    settings = {
        "uid": None if unsafe else secrets.choice(UIDS),
        "gid": GID,
        "work": os.path.join(unsafe or "/tmp", "work"),
        "readable": _readable(unsafe, device),
        "memory": None if device == "cuda" else limits.memory,  # CUDA reserves far more addresses than it uses
        "bpf": base64.b64encode(seccomp.compile_filter(gpu=device == "cuda")).decode(),
        "tgkill": seccomp.number_of("tgkill"),
        "cpu_seconds": limits.cpu_seconds,
        "file_bytes": limits.file_bytes,
    }
    kit = os.path.dirname(INSIDE) if unsafe else os.path.dirname(KIT)
    name = os.path.basename(INSIDE if unsafe else KIT)
    start = (
        f"import json, sys; sys.path.insert(0, {kit!r}); from {name} import parent; "
        "parent.main(int(sys.argv[1]), json.loads(sys.argv[2]))"
    )
    program = [*python, "-c", start, str(control_fd), json.dumps(settings)]
    return program if unsafe else [*_bubblewrap(limits, device), *program]


def _bubblewrap(limits, device):
    program = shutil.which("bwrap")
    if program is None:
        raise SandboxError(
            "Grading needs bubblewrap to run student code safely, and it is not installed: "
            "`apt-get install bubblewrap` (or --unsafe, on a machine where nothing can be lost)."
        )
    arguments = [program, "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    if os.geteuid() == 0:  # the parent gives up root itself, once it has started
        arguments += ["--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    else:
        arguments += ["--unshare-user", "--disable-userns", "--cap-drop", "ALL"]
    arguments += ["--die-with-parent", "--new-session", "--hostname", "sandbox", "--clearenv"]
    for name, value in (("PATH", "/usr/bin:/bin"), ("HOME", "/tmp"), ("LANG", "C.UTF-8"), ("OMP_NUM_THREADS", "1")):
        arguments += ["--setenv", name, value]
    # before what may lie below it, as this whole course does when it was unpacked there
    arguments += ["--perms", "1777", "--size", str(limits.disk), "--tmpfs", "/tmp"]
    # made here, since those that bubblewrap makes by itself are for root alone
    for folder in _folders_above([*_system_paths(), *_python_paths(), KIT, CPU]):
        arguments += ["--perms", "0755", "--dir", folder]
    for path in _system_paths():
        if os.path.islink(path):
            arguments += ["--symlink", os.readlink(path), path]
        else:
            arguments += ["--ro-bind", path, path]
    for path in _python_paths():
        arguments += ["--ro-bind", path, path]
    package = os.path.dirname(os.path.dirname(INSIDE))
    if any(_is_below(package, path) for path in _python_paths()):
        arguments += ["--tmpfs", package]  # installed, not linked: the kit lies among the packages that are shown
    arguments += ["--ro-bind", INSIDE, KIT, "--proc", "/proc", "--dev", "/dev"]
    arguments += ["--ro-bind-try", CPU, CPU]  # for torch, as it starts
    if device == "cuda":
        for path in sorted(glob.glob("/dev/nvidia*")):
            arguments += ["--dev-bind", path, path]
    arguments += ["--perms", "0755", "--size", "4096", "--tmpfs", "/dev/shm", "--remount-ro", "/dev/shm"]
    return [*arguments, "--chdir", "/tmp", "--"]


def _system_paths():
    """The parts of the system that Python's libraries are loaded from."""
    wanted = ["/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/share/zoneinfo", "/usr/share/fonts"]
    wanted += ["/usr/local/lib", "/usr/local/nvidia", "/lib", "/lib32", "/lib64"]
    wanted += ["/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime"]
    return [path for path in wanted if os.path.exists(path)]


def _python_paths():
    """The environment and the interpreter below it, without what lies below a path that is shown anyway.

    Never their folders as a whole: a course may lie in `/usr/local`, and so may a Python.
    """
    wanted = [os.path.join(prefix, part) for prefix in (sys.prefix, sys.base_prefix) for part in PYTHON_PARTS]
    wanted += [os.path.dirname(os.path.realpath(sys.executable)), sysconfig.get_paths()["stdlib"]]
    paths = []
    for path in sorted({p for part in wanted for p in (part, os.path.realpath(part)) if os.path.exists(part)}):
        if not any(PurePath(path).is_relative_to(other) for other in [*paths, *_system_paths()]):
            paths.append(path)
    return paths


def _folders_above(paths):
    folders = {str(folder) for path in paths for folder in PurePath(path).parents}
    return sorted(folders - {"/"} - {path for path in paths if os.path.islink(path)})


def _is_below(path, folder):
    return os.path.commonpath([os.path.realpath(path), os.path.realpath(folder)]) == os.path.realpath(folder)


def _readable(unsafe, device):
    """What Landlock lets a child read: less than bubblewrap shows, neither /proc nor /etc as a whole."""
    paths = [*_system_paths(), *_python_paths(), "/dev/urandom", "/dev/random", "/dev/zero"]
    paths.append(INSIDE if unsafe else KIT)
    if device == "cuda":
        paths += [*glob.glob("/dev/nvidia*"), "/proc", "/sys"]
    return paths


def refusal():
    """One sentence saying why there can be no sandbox here, or None. Starts bubblewrap for a moment."""
    try:
        arguments = _bubblewrap(Limits(), "cpu")
    except SandboxError as error:
        return str(error)
    true = next(path for path in ("/usr/bin/true", "/bin/true") if os.path.exists(path))
    arguments[-1:] = ["--ro-bind", true, "/true", "--", "/true"]
    done = subprocess.run(arguments, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30)
    if done.returncode == 0:
        return None
    reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
    return (
        f"Grading needs bubblewrap with user namespaces to run student code safely, and here it fails ({reason}): "
        "allow unprivileged user namespaces, or run as root (or --unsafe, on a machine where nothing can be lost)."
    )
