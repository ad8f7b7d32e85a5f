"""`autograder check`: grades files, without a gradebook."""

import contextlib
import sys
from argparse import Namespace
from collections.abc import Generator

from ..batch.commands import progress
from ..verdict import Verdict
from . import shared


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
        for verdict in (bar := progress("checking", verdicts, len(options.paths))):
            full = full and verdict.full
            text = verdict.to_json() if options.format == "json" else outcome_text.verdict_as_text(verdict)
            if options.format == "text" and not options.exercise:
                text = "\n".join([text, *_empty(verdict)])
            bar.write(text, file=sys.stdout)
            sys.stdout.flush()
            for outcome in verdict.exercises:
                if outcome.unjudged:
                    bar.write(f"autograder: a bug in the checks: {outcome.unjudged}", file=sys.stderr)
    return 0 if full else 1


def _empty(verdict: Verdict) -> list[str]:
    """A sentence for each question of a notebook that has no answer."""
    from .. import course
    from ..errors import Unreadable
    from ..grading.store import Store
    from ..report import lesson
    from ..submission.read import read_bytes, read_notebook
    from ..submission.restore import restore
    from ..submission.written import unanswered

    about = course.assignments().get(verdict.assignment)
    if about is None or not about.points_by_hand or verdict.path.endswith(".py"):
        return []
    try:
        cells = restore(read_notebook(read_bytes(verdict.path)), about.cells, about)
    except Unreadable:  # the verdict says so, or the file has changed since
        return []
    blank = unanswered(cells, about, Store(course.root()).released(about.name))
    headings = lesson.of(about)
    return [
        lesson.empty_sentence(headings.heading(c.grade_id) or c.grade_id) for c in about.cells if c.grade_id in blank
    ]


def checked(options: Namespace) -> Generator[Verdict, None, None]:
    """Yield the verdict on each file: from a watch that runs, as long as it answers, else from a sandbox of its own."""
    from .. import course
    from ..grading import credit, seeds, start
    from ..watch import service

    where, scored_by = (shared.device(options), options.sandbox), credit.of_course(course.root())
    seed = seeds.new_seed() if options.seed is None else options.seed
    grader = None
    with contextlib.ExitStack() as stack:
        for path in options.paths:
            verdict = None if grader else service.verdict_by_watch(path, options.exercise, seed, *where)
            if verdict is None:
                grader = grader or stack.enter_context(start.started_grader(*where))
                verdict = grader.grade_file(path, options.exercise, seed).verdict
            yield verdict.credited(scored_by)
