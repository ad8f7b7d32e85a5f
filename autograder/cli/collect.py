"""`autograder collect`: takes hand-ins from an LMS, from mail or from the desk."""

from argparse import Action, ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path
from typing import Any

from ..errors import UsageError
from . import shared
from .desk import needs_desk


def add(commands: shared.Commands) -> None:
    """Add the command to the parser's."""
    command = commands.add_parser(
        "collect",
        help="collect hand-ins from a download of a learning platform, from mail, or from the desk",
        description="Takes each student's notebook of an assignment into submitted/, and says what it could not take. "
        "docs/lms.md shows each system's steps.",
        epilog="exit code: 0 if all was taken, 1 if something was left out, 2 the kit itself could not work",
    )
    command.add_argument("assignment", metavar="NN", help="number or name, such as 02")
    paths = command.add_argument(
        "paths", nargs="+", type=Path, metavar="PATH", help="a zip or a folder; also Moodle's grading worksheet (.csv)"
    )
    command.add_argument(
        "--desk", action=_InPlaceOf, other=paths, help="no PATH: of the attempts made at the desk, those that count"
    )
    command.add_argument("--database", metavar="URL", help="with --desk: its records (default: as `desk` has it)")
    command.add_argument(
        "--from", dest="system", metavar="SYSTEM", type=_system, help="such as moodle (default: by their names)"
    )
    command.add_argument(
        "--pattern", metavar="REGEX", help="for the names of folders or files, with a group such as (?P<student_id>...)"
    )
    command.add_argument(
        "--timezone", metavar="ZONE", help="of times in the worksheet and in names (default: this machine's)"
    )
    command.add_argument(
        "--forget",
        action="append",
        default=[],
        metavar="ID",
        help="this student's address, id or number has changed: forget the old ones",
    )
    command.add_argument("--dry-run", action="store_true", help="say what would be taken, file by file; write nothing")
    command.add_argument("--format", choices=("text", "json"), default="text", help="of the report (default: text)")
    command.set_defaults(run=run, course=shared.WRITTEN)


def run(options: Namespace) -> int:
    """Collect hand-ins from downloads of other systems, or from the desk."""
    from .. import course
    from ..lms import commands

    assignment = course.find_assignment(options.assignment)
    if options.desk:
        if options.paths or options.system or options.pattern or options.timezone:
            raise UsageError("--desk takes what was handed in at the desk: give no download with it.")
        if options.dry_run or options.format != "text":
            raise UsageError("--dry-run and --format go with a download: the desk's own pages show what is there.")
        with needs_desk():
            from ..desk import collecting
        return collecting.from_desk(course.root(), assignment, options.database, shared.device(options), options.forget)
    if options.database:
        raise UsageError("--database goes with --desk.")
    how = options.system, options.pattern, options.timezone, options.forget, options.dry_run, options.format
    return commands.collect(course.root(), assignment, options.paths, *how)


def _system(name: str) -> str:
    """One of the systems of `--from`. Raises ArgumentTypeError."""
    from ..intake.layouts import LAYOUTS

    if name not in LAYOUTS:
        raise ArgumentTypeError(f"{name!r} is none of {', '.join(LAYOUTS)}")
    return name


class _InPlaceOf(Action):
    """An option without a value, with which another argument is no longer needed."""

    def __init__(self, other: Action, **about: Any) -> None:
        super().__init__(nargs=0, default=False, **about)
        self.other = other

    def __call__(
        self, parser: ArgumentParser, namespace: Namespace, values: Any, option_string: str | None = None
    ) -> None:
        setattr(namespace, self.dest, True)
        self.other.required = False
