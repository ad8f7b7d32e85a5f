"""`autograder doctor`: says what is missing in the course and on this machine."""

from argparse import Namespace

from ..errors import UsageError
from . import shared


def add(commands: shared.Commands) -> None:
    """Add the command to the parser's."""
    command = commands.add_parser(
        "doctor",
        help="say what is missing or wrong in the course and on this machine",
        description="Looks through the course (hints, right answers, mistakes, points, what the release gives away) "
        "and this machine (what a sandbox needs, versions of packages). Nothing is changed.",
        epilog="exit code: 0 if there is nothing to fix, 1 if there is, 2 the kit itself could not work",
    )
    command.add_argument("assignments", nargs="*", metavar="NN", help="numbers or names, such as 02 (default: all)")
    command.add_argument(
        "--pairs",
        action="store_true",
        help="run all pairs of mistakes instead, and name those that run away (hours; make pairs)",
    )
    command.set_defaults(run=run, course=shared.OPTIONAL)


def run(options: Namespace) -> int:
    """Say what is missing or wrong in the course and on this machine."""
    from .. import course, doctor

    assignments = None
    if course.here():
        assignments = [course.find_assignment(name) for name in options.assignments] or [*course.assignments().values()]
    elif options.assignments or options.pairs:
        raise UsageError("There is no course here, so there are no assignments to check.")
    return doctor.run(assignments, options.pairs)
