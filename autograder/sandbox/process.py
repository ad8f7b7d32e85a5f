"""The level `process`: a sandbox without namespaces or mounts, for containers in which nobody may make any.

The child is locked as always, by Landlock, seccomp and limits (`inside/lockdown.py`). What bubblewrap hides otherwise,
Landlock hides here: this module says what may be read. docs/security.md says what this level does not hold.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path, PurePath

from . import view
from .inside import lockdown, parent

# What root needs to run another user's processes: CHOWN DAC_OVERRIDE FOWNER KILL SETGID SETUID. Containers have them
# unless they were taken away.
NEEDED = {0: "CHOWN", 1: "DAC_OVERRIDE", 3: "FOWNER", 5: "KILL", 6: "SETGID", 7: "SETUID"}
CGROUPS = Path("/sys/fs/cgroup")
SHARE = 3  # one third of a container's memory is for a submission; the grader and the warm parent need the rest
LEAST = 192 * 2**20  # bytes that a submission gets in any case


def refusal(uid: int | None) -> str | None:
    """A sentence saying why this level is not possible here, or None. `uid`: the user that student code would have."""
    if lockdown.landlock_version() < 1:
        return f"--sandbox process needs Landlock, and {lockdown.NO_LANDLOCK}. Nothing is graded without it."
    if os.geteuid() == 0 and uid is None:
        return "--sandbox process, run by root, needs other users, but there are none here: run it as an ordinary user."
    lacking = [name for number, name in NEEDED.items() if os.geteuid() == 0 and not _is_capable(number)]
    if lacking:
        return (
            f"--sandbox process, run by root, needs the capabilit{'y' if len(lacking) == 1 else 'ies'} "
            f"{', '.join(lacking)}, which this container lacks: add it, or run as an ordinary user."
        )
    unreadable = first_unreadable(view.of_this_machine())
    if uid is not None and unreadable and not _is_capable(lockdown.CAP_DAC_READ_SEARCH):
        return (
            f"--sandbox process, run by root, runs student code as another user, who cannot read {unreadable}: install "
            "Python and the packages where everybody may read them, or run as an ordinary user."
        )
    exposed = next((path for path in view.of_this_machine().shown for root in _course() if _is_below(root, path)), None)
    if exposed:
        return f"The course is in {exposed}, where student code may read the names of files: move it elsewhere."
    return None


def must_keep_reading() -> bool:
    """Whether another user could not read the packages, so that one capability of root has to stay."""
    return first_unreadable(view.of_this_machine()) is not None


def first_unreadable(seen: view.View) -> str | None:
    """The first of the shown paths, or of the folders above them, that not everybody may read or enter; or None."""
    for path in [*seen.shown, view.INSIDE]:
        for folder in reversed(PurePath(path).parents):
            if not os.stat(folder).st_mode & 0o001:
                return str(folder)
        if not os.stat(path).st_mode & 0o004:
            return path
    return None


def readable(seen: view.View) -> tuple[list[str], list[str]]:
    """(the paths that may be read, the folders in which only names may be read, since something in them is hidden).

    Landlock knows no exceptions, so around what is hidden each neighbour is allowed by itself. Links are left out: a
    rule would follow them to wherever they lead.
    """
    hidden = [path for path, shown in seen.marks.items() if not shown]
    whole: list[str] = []
    listed: list[str] = []
    waiting = list(seen.shown)
    while waiting:
        path = waiting.pop()
        if not any(_is_below(other, path) for other in hidden):
            whole.append(path)
            continue
        listed.append(path)
        with os.scandir(path) as entries:
            waiting += [e.path for e in entries if not e.is_symlink() and e.path not in seen.marks]
    return sorted(whole), sorted(listed)


def folder(uid: int | None, gid: int) -> str:
    """Make an empty folder that belongs to this user, or to the one who runs this; returns its path."""
    path = tempfile.mkdtemp(prefix="autograder-")
    if uid is not None:
        os.chown(path, uid, gid)
    return path


def clear(path: str) -> None:
    """Remove such a folder, with whatever student code has left in it; no process may be left that could change it."""
    with contextlib.suppress(OSError):
        parent.clear(path)
    shutil.rmtree(path, ignore_errors=True)


def room(most: int) -> int:
    """The bytes of memory that a submission may take here: `most`, or less where a cgroup limits this process's own."""
    return min([most, *(max(LEAST, limit // SHARE) for limit in _memory_limits())])


def _memory_limits() -> Iterator[int]:
    """The limits of this process's cgroups, in bytes, of either version; none where there is no limit."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        root = CGROUPS / "memory" if controllers else CGROUPS
        name = "memory.limit_in_bytes" if controllers else "memory.max"
        # in a container, its own cgroup is often mounted as if it were the topmost
        for place in [root, *(root / part for part in _heads(path))]:
            with contextlib.suppress(OSError, ValueError):
                limit = int((place / name).read_text())  # "max" is no number
                if limit < 2**60:
                    yield limit


def _heads(path: str) -> list[str]:
    """a, a/b and a/b/c for /a/b/c."""
    parts = [part for part in path.split("/") if part not in ("", "..")]
    return ["/".join(parts[: end + 1]) for end in range(len(parts))]


def _is_capable(number: int) -> bool:
    """Whether this process has a capability."""
    found = re.search(r"^CapEff:\s*(\w+)$", Path("/proc/self/status").read_text(), re.MULTILINE)
    return bool(found and int(found[1], 16) >> number & 1)


def _is_below(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip("/") + "/")


def _course() -> list[str]:
    """A list with the folder of the course, unless it came inside the kit."""
    return [root for root in view.course_folders() if root != view.PACKAGE and not _is_below(root, view.PACKAGE)]
