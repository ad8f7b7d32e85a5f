"""Options that several commands share, and the refusals that come before anything heavy is imported."""

import os
import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, TypeAlias

from ..errors import UsageError
from ..verdict import FULL, LEVELS, PROCESS, UNSAFE

if TYPE_CHECKING:
    from argparse import _SubParsersAction

Commands: TypeAlias = "_SubParsersAction[ArgumentParser]"
# what a command does with the course that it finds: it may also make another one, or do without any
READ, WRITTEN, COPIED, MADE, OPTIONAL = "read", "written", "copied", "made", "optional"
EXIT = "exit code: 0 full marks for every file, 1 less, 2 the kit itself could not work"
DISTRIBUTION = "attention-course"  # the kit's name in pyproject.toml


def engine_options(command: ArgumentParser) -> None:
    """The options that `engine_for` reads."""
    where = command.add_mutually_exclusive_group()
    where.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="sandboxes that run at once")
    where.add_argument("--scheduler", metavar="ADDRESS", help="grade on a Dask cluster, such as tcp://host:8786")


def sandbox_options(command: ArgumentParser) -> None:
    """Where student code runs, and behind which walls."""
    command.add_argument(
        "--device",
        choices=("auto", "cpu", "cuda"),
        default="auto",
        help="cuda: check on the GPU as well; no points depend on it (default: auto, where there is one)",
    )
    command.add_argument(
        "--sandbox",
        choices=LEVELS,
        default=FULL,
        help="process: for containers that may make no namespaces; docs/security.md says what it does not stop. "
        "unsafe: Landlock and limits alone, for code that you trust (default: full)",
    )
    command.add_argument(
        "--unsafe", action="store_const", dest="sandbox", const=UNSAFE, help="the same as --sandbox unsafe"
    )


def tell_which_course(options: Namespace) -> None:
    """Say which course a command works on: as a heading the one around the working directory, on stderr the kit's own.

    Output for programs (JSON, or a digest, which is mailed if there is any) gets no heading. Raises UsageError for a
    command that would write into a course that was installed along with the kit.
    """
    from .. import course

    use = getattr(options, "course", READ)
    for_people = getattr(options, "format", "text") == "text" and not getattr(options, "digest", False)
    if found := course.here():
        if for_people and use not in (MADE, COPIED):
            print(f"The course in {found}", flush=True)
        return
    if use in (MADE, OPTIONAL) or not course.kits_own():
        return
    if use == WRITTEN and course.kits_own() == course.PACKED:
        raise UsageError(
            "There is no course here: no folder with nbgrader_config.py and source/ at or above this one. `autograder"
            " new course DIR` makes one, and `autograder new course --attention DIR` a copy of the kit's own."
        )
    print(f"autograder: there is no course here; this is the kit's own, {course.kits_own()}", file=sys.stderr)


def require_jobs(options: Namespace) -> None:
    """Raises UsageError unless --jobs is a number of processes."""
    if options.jobs < 1:
        raise UsageError("--jobs takes a number from 1 up.")


def refuse_without_sandbox(options: Namespace) -> None:
    """Raises UsageError with one sentence if student code cannot be sandboxed here; says so below the full level."""
    if options.sandbox == UNSAFE:
        print("autograder: --unsafe: student code runs without bubblewrap.", file=sys.stderr)
        return
    if options.sandbox == PROCESS:
        if options.device == "cuda":
            raise UsageError("--sandbox process cannot grade on a GPU: the driver needs more than that level allows.")
        print(
            "autograder: --sandbox process: no namespaces; docs/security.md says what that does not stop.",
            file=sys.stderr,
        )
    from ..sandbox import jail

    if problem := jail.refusal(options.sandbox):
        raise UsageError(problem)


def device(options: Namespace) -> str:
    """The device, cpu or cuda, that --device asks for."""
    if getattr(options, "device", "auto") != "auto":
        return options.device
    if getattr(options, "sandbox", FULL) == PROCESS:
        return "cpu"
    return "cuda" if os.path.exists("/dev/nvidiactl") else "cpu"
