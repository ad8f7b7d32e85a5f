"""`autograder export`: writes grades and feedback as an LMS takes them in."""

from argparse import Namespace
from pathlib import Path

from . import shared

FORMATS = ("moodle", "canvas", "csv", "gradescope", "exercism")


def add(commands: shared.Commands) -> None:
    """Add the command to the parser's."""
    command = commands.add_parser(
        "export",
        help="write grades and feedback in the formats of Moodle, Canvas and others",
        description="Writes exports/NN_name/: tables of grades, zips of feedback, results.json.",
    )
    command.add_argument("assignment", metavar="NN", help="number or name, such as 02")
    command.add_argument("formats", nargs="+", choices=FORMATS)
    command.add_argument(
        "--fill", type=Path, metavar="FILE", help="the table downloaded from the system, to be filled in"
    )
    command.add_argument("--encoding", metavar="NAME", help="of that table, as for `autograder roster`")
    command.add_argument("--column", metavar="NAME", help="the table's column for the grades")
    command.add_argument("--scale", action="store_true", help="convert to the maximum grade of the table")
    command.add_argument("--zeros", action="store_true", help="0 for students who have handed in nothing")
    command.set_defaults(run=run, course=shared.WRITTEN)


def run(options: Namespace) -> int:
    """Write grades and feedback as other systems take them in."""
    from .. import course
    from ..lms import commands

    assignment = course.find_assignment(options.assignment)
    how = options.fill, options.column, options.scale, options.zeros, options.encoding
    return commands.export(course.root(), assignment, options.formats, *how)
