"""`autograder demo`: runs a whole course on a made-up class."""

from argparse import Namespace

from . import shared


def add(commands: shared.Commands) -> None:
    """Add the command to the parser's."""
    command = commands.add_parser(
        "demo",
        help="run a whole course on a small made-up class",
        description="Copies the course into a folder of its own, makes a class, grades it and writes its feedback.",
    )
    command.add_argument("assignments", nargs="*", metavar="NN", help="numbers or names, such as 02 (default: all)")
    command.add_argument(
        "--folder", default="demo_course", help="where to (default: demo_course; replaced if it exists)"
    )
    command.add_argument("--jobs", type=int, default=2, metavar="N", help="sandboxes that run at once (default: 2)")
    command.add_argument("--verbose", action="store_true", help="print every student's scores, too")
    shared.sandbox_options(command)
    command.set_defaults(run=run, course=shared.COPIED)


def run(options: Namespace) -> int:
    """Run a whole course on a made-up class."""
    shared.refuse_without_sandbox(options)
    from ..demo import run as demos

    settings = options.jobs, shared.device(options), options.sandbox
    return demos.run(options.folder, *settings, options.assignments, options.verbose)
