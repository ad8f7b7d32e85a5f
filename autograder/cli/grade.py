"""`autograder grade`: grades all submissions of assignments into the gradebook."""

from argparse import Namespace

from ..batch.commands import engine_for, grade_class
from ..verdict import UNSAFE
from . import shared


def add(commands: shared.Commands) -> None:
    """Add the command to the parser's."""
    command = commands.add_parser(
        "grade",
        help="grade all submissions of assignments into the gradebook",
        description="Grades submitted/STUDENT/NN_name/NN_name.ipynb of every student. What has not changed since the "
        "last run is not graded again.",
    )
    command.add_argument("assignments", nargs="+", metavar="NN", help="numbers or names, such as 02")
    command.add_argument("--student", action="append", metavar="ID", help="only this student (may be repeated)")
    shared.engine_options(command)
    command.add_argument("--regrade", action="store_true", help="grade everything again, with the same inputs")
    command.add_argument(
        "--new-inputs",
        action="store_true",
        help="grade everything again, with new inputs: scores of wrong answers may then change by luck",
    )
    command.add_argument("--dry-run", action="store_true", help="write nothing, and say which points would change")
    command.add_argument(
        "--format",
        choices=("text", "json"),
        default="text",
        help="json: only the changes of points, one line for each exercise of a student",
    )
    shared.sandbox_options(command)
    command.set_defaults(run=run, course=shared.WRITTEN)


def run(options: Namespace) -> int:
    """Grade all submissions of the assignments into the gradebook."""
    from .. import course
    from ..batch import run as batch
    from ..grading.store import Store

    root = course.root()
    if options.sandbox == UNSAFE or not options.scheduler:  # with a cluster, its workers need the sandbox
        shared.refuse_without_sandbox(options)
    shared.require_jobs(options)
    wanted = dict.fromkeys(course.find_assignment(name) for name in options.assignments)
    classes = [(assignment, batch.asked_for(root, assignment.name, options.student)) for assignment in wanted]
    learnt = None if options.dry_run else Store(root).learnt
    with engine_for(options.scheduler, options.jobs, shared.device(options), options.sandbox, learnt) as engine:
        settings = engine, shared.device(options), options.sandbox, options.regrade, options.new_inputs
        how = {"is_draft": options.dry_run, "as_json": options.format == "json"}
        return max(grade_class(root, assignment, who, *settings, **how) for assignment, who in classes)
