"""`autograder pause`: a period that does not count; due dates move."""

from argparse import Action, ArgumentParser, Namespace
from typing import Any

from . import shared


def add(commands: shared.Commands) -> None:
    """Add the command to the parser's."""
    command = commands.add_parser(
        "pause",
        help="have a period not count, for everybody or some students",
        description="Moves the due dates that lie in a period: `autograder pause 2026-11-20 2026-11-24`, from the begin"
        " of the first day to the end of the last one (UTC), or 2026-11-20T12:00. Numbers of assignments after it are"
        " the only ones that it is for, and --for names students. Alone, it lists the pauses, as they are typed.",
    )
    command.add_argument("words", nargs="*", metavar="FIRST LAST [NN]", help="such as 2026-11-20 2026-11-24")
    command.add_argument(
        "--for",
        dest="students",
        action=_For,
        nargs="+",
        default=[],
        metavar=("STUDENT", "NN"),
        help="a student, of several by one --for each",
    )
    command.add_argument("--undo", action="store_true", help="take the same pause back")
    command.set_defaults(run=run, course=shared.WRITTEN, after=[])


class _For(Action):
    """Takes a student; words that follow are what they would be before it, which argparse does not find by itself."""

    def __call__(
        self, parser: ArgumentParser, namespace: Namespace, values: Any, option_string: str | None = None
    ) -> None:
        student, *words = values
        namespace.students = [*namespace.students, student]
        namespace.after = [*namespace.after, *words]


def run(options: Namespace) -> int:
    """Keep a pause, take one back, or list them."""
    from .. import course
    from ..batch import pausing

    print(pausing.wanted(course.root(), [*options.words, *options.after], options.students, options.undo))
    return 0
