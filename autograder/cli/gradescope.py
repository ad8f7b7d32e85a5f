"""`autograder gradescope`: makes the zip with which Gradescope grades, and grades there."""

import sys
from argparse import Namespace
from pathlib import Path

from ..errors import UsageError
from . import shared


def add(commands: shared.Commands) -> None:
    """Add the command to the parser's."""
    command = commands.add_parser(
        "gradescope",
        help="make the zip with which Gradescope grades an assignment",
        description="Writes gradescope/NN_name.zip, to be uploaded as the autograder of a programming assignment. It "
        "holds the solutions and the hidden checks: it is for Gradescope alone. docs/containers.md says more.",
    )
    command.add_argument("assignment", metavar="NN", help="number or name, such as 02")
    command.add_argument("--output", metavar="FILE", help="where to (default: gradescope/NN_name.zip)")
    command.add_argument("--grade", metavar="FOLDER", help="on Gradescope: grade what is in this folder instead")
    command.add_argument("--results", metavar="FILE", help="with --grade: the results.json to write")
    shared.sandbox_options(command)
    command.set_defaults(run=run, course=shared.WRITTEN)


def run(options: Namespace) -> int:
    """Make the zip for Gradescope or, there, grade a submission with it."""
    from .. import course

    assignment = course.find_assignment(options.assignment)
    if bool(options.grade) != bool(options.results):
        raise UsageError("--grade and --results go together.")
    if options.grade:
        shared.refuse_without_sandbox(options)
    from ..grading import start
    from ..sandbox import jail

    if options.grade:
        with start.started_grader(shared.device(options), options.sandbox) as grader:
            from ..batch import gradescope as grading

            verdict = grading.grade(assignment, Path(options.grade), grader)
        said = grading.left_out(Path(options.grade), verdict.path)
        grading.write_results(verdict, Path(options.results), said)
        for outcome in verdict.exercises:
            if outcome.unjudged:
                print(f"autograder: a bug in the checks: {outcome.unjudged}", file=sys.stderr)
        return 0
    from ..batch import gradescope as grading

    path = Path(options.output or course.root() / "gradescope" / f"{assignment.name}.zip")
    grading.require_room(path)
    with start.started_grader("cpu", jail.own_level()) as grader:
        for untried in grading.require_gate(assignment, grader):
            print(f"autograder: {untried}", file=sys.stderr)
    grading.bundle(assignment, path)
    print(f"{path} is written: for Gradescope alone, since it holds the solutions and the hidden checks")
    return 0
