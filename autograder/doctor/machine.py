"""Finds which of grading's requirements this machine meets, and which level of sandbox it offers."""

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from ..errors import SandboxError
from ..verdict import PROCESS
from .finding import Finding

PACKAGE = "attention-course"
LANDLOCK = ((4, "TCP (Linux 6.7)"), (6, "abstract sockets and signals (Linux 6.12)"))  # version, what it adds
CGROUP = Path("/sys/fs/cgroup/memory.max")
GIB = 2**30


def findings() -> Iterator[Finding]:
    """All findings on this machine."""
    yield from _versions()
    if sys.platform != "linux":
        yield Finding(False, f"student code is graded on Linux, and this is {platform.system()}")
        return
    yield from _resources()
    lacks = []
    yield from _bubblewrap(lacks)
    yield from _landlock(lacks)
    yield from _seccomp(lacks)
    yield _level(lacks)
    if not {"Landlock", "seccomp"} & set(lacks):
        yield from _computing()


def _versions():
    from importlib import metadata

    from packaging.requirements import Requirement
    from packaging.specifiers import SpecifierSet

    try:
        wanted = metadata.requires(PACKAGE) or []
        python = metadata.metadata(PACKAGE)["Requires-Python"]
    except metadata.PackageNotFoundError:
        yield Finding(None, f"Python {platform.python_version()}; the kit is not installed, so versions are not known")
        return
    well = platform.python_version() in SpecifierSet(python)
    yield Finding(well, f"Python {platform.python_version()} ({python} is supported)")
    wrong, right = [], 0
    for requirement in map(Requirement, wanted):
        if requirement.marker and not requirement.marker.evaluate({"extra": ""}):
            continue
        try:
            version = metadata.version(requirement.name)
        except metadata.PackageNotFoundError:
            wrong.append(
                f"{requirement.name} is not installed: pip install '{requirement.name}{requirement.specifier}'"
            )
            continue
        if requirement.specifier.contains(version, prereleases=True):
            right += 1
        else:
            wrong.append(f"{requirement.name} {version} is installed, and {requirement.specifier} is needed")
    yield from [Finding(False, line) for line in wrong]
    yield Finding(not wrong or None, f"{right} of {right + len(wrong)} packages have versions that are supported")


def _resources():
    from ..sandbox.jail import Limits

    cores, memory, each = len(os.sched_getaffinity(0)), memory_of_this_machine(), Limits().memory
    yield Finding(None, f"{cores} core{'' if cores == 1 else 's'}: `autograder grade` uses as many unless --jobs says")
    enough = memory >= 2 * GIB
    advice = "" if memory >= cores * GIB else f"; --jobs {max(1, memory // GIB)} leaves 1 GiB for each"
    yield Finding(
        enough, f"{memory / GIB:.1f} GiB of memory; a sandbox takes 1 GiB, and a submission up to {each // GIB}{advice}"
    )


def memory_of_this_machine() -> int:
    """The memory of this machine, or of its container if that has less, in bytes."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = CGROUP.read_text().strip() if CGROUP.is_file() else ""
    return min(memory, int(limit)) if limit.isdigit() else memory


def _bubblewrap(lacks):
    from ..sandbox import jail

    program = shutil.which("bwrap") or "bwrap"
    if problem := jail.refusal():
        lacks.append("bubblewrap")
        yield Finding(False, problem)
        return
    said = subprocess.run([program, "--version"], capture_output=True, text=True).stdout
    version = re.search(r"\d[\d.]*", said)
    how = "namespaces of its own" if os.geteuid() else "namespaces"
    if os.geteuid() == 0 and jail.user_of_its_own() is not None:
        how = "namespaces, and a user of its own for each sandbox, since you are root"
    yield Finding(True, f"bubblewrap {version[0] if version else ''} works: {how}")


def _landlock(lacks):
    from ..sandbox.inside import lockdown

    version = lockdown.landlock_version()
    if version < 1:
        lacks.append("Landlock")
        yield Finding(False, f"Linux {platform.release()} has no Landlock (from 5.13 on, if switched on)")
        return
    without = [what for needed, what in LANDLOCK if version < needed]
    says = f"Landlock, version {version}"
    if without:
        says += f": without {' and '.join(without)}, but bubblewrap and seccomp block these as well"
    yield Finding(True, says)


def _seccomp(lacks):
    try:
        from ..sandbox import seccomp

        seccomp.compile_filter()
    except (ImportError, OSError, RuntimeError) as error:
        lacks.append("seccomp")
        yield Finding(False, f"seccomp cannot be used ({error}): apt-get install libseccomp2, pip install pyseccomp")
        return
    known = re.search(r"^Seccomp:", Path("/proc/self/status").read_text(), re.MULTILINE)
    if not known:
        lacks.append("seccomp")
    yield Finding(bool(known), "seccomp" if known else "this kernel has no seccomp, so nothing is graded")


def _computing():
    from .. import course
    from ..sandbox import jail
    from ..sandbox.parent import WarmParent

    if not course.imports_torch():  # there is no torch in the sandbox
        return
    try:
        with WarmParent(level=jail.own_level()) as parent:
            lacks = parent.lacks
    except (SandboxError, ImportError) as problem:
        yield Finding(False, f"what torch can do in a sandbox is not known: {problem}")
        return
    for dtype, said in lacks.items():
        yield Finding(
            None,
            f"torch can't compute with {dtype} in the sandbox of this machine ({said}). Checks that need it are left"
            " out, and their points go to the other checks of the exercise",
        )
    if not lacks:
        yield Finding(True, "in the sandbox, torch computes with every dtype that checks send")


def _level(lacks):
    from ..sandbox import jail

    if not lacks:
        return Finding(True, "the whole sandbox: bubblewrap, Landlock, seccomp and limits (docs/security.md)")
    if lacks == ["bubblewrap"] and jail.refusal(PROCESS) is None:
        return Finding(
            None,
            "with --sandbox process, Landlock, seccomp, limits and a watch on the disk: docs/security.md says what that"
            " does not stop. Grading uses it only if you ask for it",
        )
    if lacks == ["bubblewrap"]:
        return Finding(
            None,
            "with --unsafe, Landlock, seccomp and limits are all there is: no bound on the disk, no other user, and"
            " what Landlock does not cover is open. Check your own code with it, but grade no stranger's",
        )
    return Finding(False, f"no sandbox at all, because of missing {' and '.join(lacks)}: nothing can be graded here")
