"""`autograder desk`: takes hand-ins in the browser and from notebooks, and answers at once."""

import contextlib
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

from ..errors import UsageError
from ..verdict import UNSAFE
from . import shared

# what desk/ imports
DESK_NEEDS = "starlette uvicorn python_multipart itsdangerous anyio h11 jupyterhub jwt".split()


def add(commands: shared.Commands) -> None:
    """Add the command to the parser's."""
    command = commands.add_parser(
        "desk",
        help="take hand-ins in the browser and from notebooks, and answer at once",
        description="Opens a web service that takes hand-ins, grades them at once, answers with each student's page, "
        "and records every attempt. docs/desk.md has its settings, and how students come in.",
    )
    command.add_argument("--host", metavar="ADDRESS", help="to listen on (default: 127.0.0.1)")
    command.add_argument("--port", type=int, metavar="N", help="to listen on (default: 8090)")
    command.add_argument(
        "--database", metavar="URL", help="where the attempts are kept (default: desk.db beside the gradebook)"
    )
    shared.engine_options(command)
    who = command.add_mutually_exclusive_group()
    who.add_argument("--me", action="store_true", help="for yourself on this machine: no login, nothing is withheld")
    who.add_argument("--demo", action="store_true", help="in a folder demo_desk, with a made-up class that hands in")
    instead = command.add_argument_group("instead of opening it")
    instead.add_argument(
        "--links",
        nargs="*",
        metavar="ID",
        help="write new personal links as a table: of these students, or of all who have none",
    )
    instead.add_argument("--revoke", nargs="+", metavar="ID", help="withdraw the links of these students")
    instead.add_argument("--forget", nargs="+", metavar="ID", help="forget which accounts these students have")
    instead.add_argument("--members", action="store_true", help="take the roster from the learning platform's course")
    instead.add_argument(
        "--export", type=Path, metavar="FOLDER", help="write all attempts there, in ProgSnap 2, with pseudonyms"
    )
    instead.add_argument(
        "--digest", action="store_true", help="print what waits for you, such as complaints, or nothing: for a cron job"
    )
    shared.sandbox_options(command)
    command.set_defaults(run=run, course=shared.WRITTEN)


def run(options: Namespace) -> int:
    """Open the desk, export what was handed in there, or say what waits."""
    if options.export or options.digest:
        with needs_desk():
            from ..desk import command
        return command.export(options) if options.export else command.digest(options)
    if options.sandbox == UNSAFE and not options.me:
        raise UsageError(
            "A desk runs what anybody hands in: without a sandbox, that can read its records and everybody's keys."
            " Leave --unsafe out; --sandbox process needs no bubblewrap."
        )
    if options.sandbox == UNSAFE or not options.scheduler:
        shared.refuse_without_sandbox(options)
    shared.require_jobs(options)
    with needs_desk():
        from ..desk import command
    return command.run(options, shared.device(options))


@contextlib.contextmanager
def needs_desk() -> Iterator[None]:
    """Raises UsageError if what the desk needs is not installed."""
    try:
        yield
    except ModuleNotFoundError as missing:
        package = (missing.name or "").split(".")[0]
        if package not in DESK_NEEDS:
            raise
        raise UsageError(
            f"The desk needs {package}, which is not installed: pip install '{shared.DISTRIBUTION}[desk]'."
        ) from None
