"""`autograder roster`: takes in who is in the class, or lists them."""

from argparse import Namespace
from pathlib import Path

from . import shared


def add(commands: shared.Commands) -> None:
    """Add the command to the parser's."""
    command = commands.add_parser(
        "roster",
        help="read in the students of the class, or list them",
        description="Takes students from tables into the gradebook: columns id, first_name, last_name, email, "
        "lms_user_id, dropped, or an export of Moodle's, Canvas's or Gradescope's. Without a table, it lists them.",
    )
    command.add_argument("files", nargs="*", type=Path, metavar="FILE", help="a table (.csv)")
    command.add_argument(
        "--drop", action="append", default=[], metavar="ID", help="has left: keeps the grades, but is left out"
    )
    command.add_argument("--take-back", action="append", default=[], metavar="ID", help="was dropped, but is back")
    command.add_argument(
        "--encoding", metavar="NAME", help="of tables that are not in UTF-8 and can be read in several ways: cp1250, …"
    )
    command.set_defaults(run=run, course=shared.WRITTEN)


def run(options: Namespace) -> int:
    """Take in who is in the class, or list them."""
    from .. import course
    from ..lms import commands

    return commands.roster(course.root(), options.files, options.drop, options.take_back, options.encoding)
