"""`autograder watch`: grades a file whenever it is saved."""

from argparse import Namespace

from . import shared


def add(commands: shared.Commands) -> None:
    """Add the command to the parser's."""
    command = commands.add_parser(
        "watch",
        help="grade a notebook or .py file whenever it is saved, and show what to do next",
        description="Shows how far you are, the exercise to do next, what is wrong with it, and a hint. Keys: h shows "
        "the next hint, q quits. While it runs, `autograder check` uses its sandbox and answers faster.",
        epilog=shared.EXIT,
    )
    command.add_argument("path", metavar="PATH", help="a notebook or a .py file")
    command.add_argument("--exercise", metavar="NAME", help="grade only this exercise, such as attention")
    command.add_argument("--seed", type=int, help="draw the inputs from this seed (default: a new one)")
    shared.sandbox_options(command)
    command.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Grade a file whenever it is saved, and show what to do next."""
    from .. import course

    if options.exercise:
        course.find_exercise(options.exercise)
    shared.refuse_without_sandbox(options)
    from ..watch import session

    return session.run(options.path, options.exercise, options.seed, shared.device(options), options.sandbox)
