"""`autograder name`: gives a group of equal wrong answers the instructor's message."""

from argparse import Namespace

from ..batch.commands import locked
from ..errors import UsageError
from . import shared


def add(commands: shared.Commands) -> None:
    """Add the command to the parser's."""
    command = commands.add_parser(
        "name",
        help="write a message to a group of equal wrong answers that has no name yet",
        description="Shows a sentence of yours, in the feedback, to everybody with an answer like those of a group in"
        " the class report, now and later. It is kept in names.json, with the code of one of the answers. Without"
        " GROUP, all groups are listed.",
    )
    command.add_argument("group", nargs="?", metavar="GROUP", help="such as attention-3f9a2c, from the class report")
    command.add_argument("sentence", nargs="?", metavar="SENTENCE", help="what is wrong, and what to do")
    command.add_argument("--remove", action="store_true", help="remove the sentence")
    command.add_argument(
        "--price", type=float, metavar="POINTS", help="what such an answer loses, where scores are by prices"
    )
    shared.sandbox_options(command)
    command.set_defaults(run=run, course=shared.WRITTEN)


def run(options: Namespace) -> int:
    """Give a group of equal wrong answers a sentence, or remove it, or list all groups."""
    from .. import course
    from ..batch import naming

    root = course.root()
    if options.group is None:
        print(naming.listing(root))
        return 0
    if options.remove == (options.sentence is not None):
        raise UsageError("Give either a sentence for the group, or --remove.")
    if options.remove:
        if options.price is not None:
            raise UsageError("--remove removes the price as well.")
        print(naming.remove(root, options.group))
        return 0
    if said := naming.rename(root, options.group, options.sentence, options.price):
        print(said)
        return 0
    assignment = naming.assignment_of(options.group)
    shared.refuse_without_sandbox(options)
    from ..grading import start

    with locked(root, assignment.name), start.started_grader(shared.device(options), options.sandbox) as grader:
        judge = naming.by_grader(grader, assignment, shared.device(options))
        answers = naming.graded_answers(root, assignment)
        print(naming.give(root, options.group, options.sentence, judge, answers, options.price))
    return 0
