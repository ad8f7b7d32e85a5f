"""`autograder extend`: gives a student, or the class, more time for an assignment."""

from argparse import Namespace

from . import shared


def add(commands: shared.Commands) -> None:
    """Add the command to the parser's."""
    command = commands.add_parser(
        "extend",
        help="give a student, or the class, more time for an assignment",
        description="Gives a student an extension, from the due date of the class: `autograder extend ada 03 2d`, and"
        " `none` takes it back. With --all, the due date moves: `autograder extend --all 03 12h`. Alone, it lists who"
        " has more time.",
    )
    command.add_argument("words", nargs="*", metavar="STUDENT NN TIME", help="such as ada 03 2d; with --all: 03 2d")
    command.add_argument("--all", action="store_true", help="move the due date of the whole class")
    command.set_defaults(run=run, course=shared.WRITTEN)


def run(options: Namespace) -> int:
    """Give more time, or list who has it."""
    from .. import course
    from ..batch import extending

    print(extending.wanted(course.root(), options.words, options.all))
    return 0
