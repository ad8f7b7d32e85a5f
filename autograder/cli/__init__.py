"""The command `autograder`: one file per command, with its options and its function. Imports come late."""

import argparse
import errno
import os
import resource
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from ..errors import DISK, UserError
from . import shared

COMMANDS = (  # in the order of `autograder --help`
    *("build", "check", "watch", "grade", "report", "collect", "roster", "extend", "excuse", "pause", "export", "name"),
    *("demo", "desk", "gradescope", "new", "doctor", "name-check"),
)
# errors of a full disk, a folder that is not writable, a machine at its limits
UNUSABLE = {errno.EACCES, errno.EPERM, errno.ENFILE, errno.EMFILE, errno.ENOMEM, *DISK}
DRIVERS = {"psycopg": "psycopg[binary]", "psycopg2": "psycopg2-binary"}  # PostgreSQL drivers: module and package


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    options = parser(*given[:1]).parse_args(given)
    try:
        shared.tell_which_course(options)
        return options.run(options)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C must not disturb the exit
        print("autograder: stopped; run the same command again to continue.", file=sys.stderr)
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        said = sentence(error)
        if said is None:
            if os.environ.get("AUTOGRADER_DEBUG"):
                raise
            print(
                "autograder: internal error, please report it; AUTOGRADER_DEBUG=1 shows the traceback.", file=sys.stderr
            )
            said = f"{type(error).__name__}: {error}"
        print(f"autograder: {said}", file=sys.stderr)
        return 2


def sentence(error: BaseException) -> str | None:
    """The message for an error that the user can do something about; None for an internal error."""
    if isinstance(error, UserError):
        return str(error)
    go_on = f"Finished work is kept: {_file_limit() or 'fix that'} and run the same command again."
    if isinstance(error, OSError) and error.errno in UNUSABLE:
        return f"{error.strerror}{f' ({error.filename})' if error.filename else ''}. {go_on}"
    if isinstance(error, (FileExistsError, NotADirectoryError)) and (found := _in_the_way(error.filename)):
        return f"{found} is a file, and a folder is needed in its place: move it away. {go_on}"
    if isinstance(error, ModuleNotFoundError) and error.name in DRIVERS:
        return f"The gradebook's PostgreSQL driver is not installed: pip install '{DRIVERS[error.name]}'."
    if "SQLAlchemyError" in {k.__name__ for k in type(error).__mro__}:  # SQLAlchemy is not imported for this
        said = str(getattr(error, "orig", None) or error).split("\n")[0].rstrip(".")
        if said == "database is locked":
            return f"Another program locks the gradebook (Formgrader, or a shell of the database). {go_on}"
        return f"The gradebook cannot be used: {said}. {go_on}"
    return None


def _in_the_way(path: str | os.PathLike[str] | None) -> Path | None:
    """The first part of a path that is there and is no folder, or None."""
    parts = [*reversed(Path(path).parents), Path(path)] if path else []
    return next((part for part in parts if part.exists() and not part.is_dir()), None)


def _file_limit() -> str:
    """What to do about a limit on the size of files, which may be behind an error that does not say so; or ""."""
    limit, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    if limit == resource.RLIM_INFINITY:
        return ""
    letter = "-Hf" if limit == most else "-f"
    return f"files may have at most {limit // 1024:,} kB here (`ulimit {letter}`): raise that"


def parser(first: str = "") -> argparse.ArgumentParser:
    """The argument parser of the command that is the `first` argument; of all commands, where that is none."""
    top = argparse.ArgumentParser(
        prog="autograder",
        description="Builds, grades and reports on a course of exercises: the one in this folder or above it, else the "
        "one on attention that comes with the kit.",
        epilog="`autograder COMMAND --help` says more about each command.",
    )
    top.add_argument("--version", action=_Version, nargs=0, help="print the kit's version")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name in (first,) if first in COMMANDS else COMMANDS:
        import_module(f".{name.replace('-', '_')}", __name__).add(commands)
    return top


class _Version(argparse.Action):
    """Prints the kit's version, which is looked up only if it is asked for."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: Any, values: Any, option_string: str | None = None
    ) -> None:
        from importlib import metadata

        try:
            found = metadata.version(shared.DISTRIBUTION)
        except metadata.PackageNotFoundError:
            found = "(not installed as a package)"
        print(f"autograder {found}")
        parser.exit()
