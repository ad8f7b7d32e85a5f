"""`autograder excuse`: an assignment does not count for a student."""

from argparse import Namespace

from . import shared


def add(commands: shared.Commands) -> None:
    """Add the command to the parser's."""
    command = commands.add_parser(
        "excuse",
        help="have an assignment not count for a student",
        description='Excuses a student from an assignment: `autograder excuse ada 03 "ill"`. It is left out of exports,'
        " averages and late penalties; the student may still hand in, for feedback, and does not see the reason. Alone,"
        " it lists who is excused.",
    )
    command.add_argument("words", nargs="*", metavar="STUDENT NN [WHY]", help='such as ada 03 "ill"')
    command.add_argument("--undo", action="store_true", help="have it count again")
    command.set_defaults(run=run, course=shared.WRITTEN)


def run(options: Namespace) -> int:
    """Excuse a student, or list who is excused."""
    from .. import course
    from ..batch import excusing

    print(excusing.wanted(course.root(), options.words, options.undo))
    return 0
