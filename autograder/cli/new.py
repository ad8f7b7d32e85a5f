"""`autograder new`: starts a course or an exercise."""

from argparse import Namespace

from ..errors import UsageError
from . import shared


def add(commands: shared.Commands) -> None:
    """Add the command to the parser's."""
    command = commands.add_parser("new", help="start a course or an exercise of your own")
    kinds = command.add_subparsers(title="what to start", metavar="WHAT", required=True)
    for_course = kinds.add_parser(
        "course",
        help="make a folder that is a small course",
        description="Makes a course of one lesson on linear algebra to start from, which builds and grades at once;"
        " or next year's from last year's: its notebooks, exercises, settings and sentences, and none of its students;"
        " or one with the lessons of courses that are installed as packages.",
    )
    for_course.add_argument(
        "folder", metavar="DIR", nargs="?", help="a folder that is empty or not there yet (with --from: the next year)"
    )
    which = for_course.add_mutually_exclusive_group()
    which.add_argument("--attention", action="store_true", help="the course on attention that comes with the kit")
    which.add_argument(
        "--from",
        dest="sources",
        action="append",
        metavar="LAST",
        help="last year's course, which stays as it is; or the name of an installed course, of several if repeated",
    )
    for_course.set_defaults(run=course, course=shared.MADE)
    for_exercise = kinds.add_parser(
        "exercise",
        help="add the skeleton of an exercise to the course",
        description="Adds cells to a source notebook, and a folder with checks, mistakes and a right answer. All of "
        "it builds; `autograder doctor` says what is missing.",
    )
    for_exercise.add_argument("name", metavar="NAME", help="what students define, such as moving_average")
    for_exercise.add_argument("--assignment", metavar="NN", help="number or name (default: the last assignment)")
    for_exercise.set_defaults(run=exercise)


def course(options: Namespace) -> int:
    """Make a folder that is a small course, the kit's own, next year's, or one of installed courses."""
    from .. import new

    if options.sources:
        from ..new import packaged

        print(packaged.course_from(options.sources, options.folder))
        return 0
    if options.folder is None:
        raise UsageError("Name a folder for the course: `autograder new course DIR`.")
    print(new.course(options.folder, options.attention))
    return 0


def exercise(options: Namespace) -> int:
    """Add the skeleton of an exercise to the course."""
    from .. import new

    print(new.exercise(options.name, options.assignment))
    return 0
