"""`autograder check`: grades files, without a gradebook."""

import contextlib
import json
import sys
from argparse import Namespace
from collections.abc import Generator
from typing import TYPE_CHECKING

from ..batch.commands import progress
from ..verdict import Verdict
from . import shared

if TYPE_CHECKING:
    from ..report.lesson import Blank


def add(commands: shared.Commands) -> None:
    """Add the command to the parser's."""
    command = commands.add_parser(
        "check",
        help="grade notebooks or .py files, without a gradebook",
        description="Grades files and prints what was found. Nothing is written.",
        epilog=shared.EXIT,
    )
    command.add_argument("paths", nargs="+", metavar="PATH", help="a notebook or a .py file")
    command.add_argument("--exercise", metavar="NAME", help="grade only this exercise, such as attention")
    command.add_argument("--format", choices=("text", "json"), default="text", help="json: one line per file")
    command.add_argument("--seed", type=int, help="draw the inputs from this seed (default: a new one)")
    shared.sandbox_options(command)
    command.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Grade files and print what was found."""
    from .. import course

    if options.exercise:
        course.find_exercise(options.exercise)
    shared.refuse_without_sandbox(options)
    from ..report import outcome_text

    full = True
    with contextlib.closing(checked(options)) as verdicts:
        for verdict, blank in (bar := progress("checking", verdicts, len(options.paths))):
            full = full and verdict.full
            if options.exercise or verdict.path.endswith(".py"):
                blank = []
            if options.format == "json":
                text = json.dumps({**verdict.to_dict(), "blank": blank}, ensure_ascii=True)
            else:
                text = "\n".join([outcome_text.verdict_as_text(verdict), *(one["message"] for one in blank)])
            bar.write(text, file=sys.stdout)
            sys.stdout.flush()
            for outcome in verdict.exercises:
                if outcome.unjudged:
                    bar.write(f"autograder: a bug in the checks: {outcome.unjudged}", file=sys.stderr)
    return 0 if full else 1


def checked(options: Namespace) -> "Generator[tuple[Verdict, list[Blank]], None, None]":
    """Yield the verdict on each file, and its written answers that are blank.

    They are from a watch that runs, as long as it answers, else from a sandbox of this process.
    """
    from .. import course
    from ..grading import seeds, start, waivers
    from ..report import lesson
    from ..watch import service

    where, scoring = (shared.device(options), options.sandbox), waivers.scoring_of(course.root())
    seed = seeds.new_seed() if options.seed is None else options.seed
    grader = None
    with contextlib.ExitStack() as stack:
        for path in options.paths:
            is_here = grader or start.wants_costs()  # a watch counts only if it was started so
            found = None if is_here else service.verdict_by_watch(path, options.exercise, seed, *where)
            if found is None:
                grader = grader or stack.enter_context(start.started_grader(*where))
                grader.waived = scoring.waivers.waived
                graded = grader.grade_file(path, options.exercise, seed)
                found = graded.verdict, lesson.blank_in(graded)
            verdict, blank = found
            yield scoring.of(verdict), blank
