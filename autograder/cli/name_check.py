"""`autograder name-check`: says how well the named mistakes fit a folder of wrong answers."""

import sys
from argparse import Namespace
from pathlib import Path

from ..batch.commands import progress
from . import shared


def add(commands: shared.Commands) -> None:
    """Add the command to the parser's."""
    command = commands.add_parser(
        "name-check",
        help="test how well the named mistakes fit, on a folder of wrong answers",
        description="Grades FOLDER/EXERCISE/NAME.py, each of which says in a comment `# expect: id, id` which mistakes"
        " it makes, and prints which names it got and how often they are right. `?` means a mistake that has no name."
        " Nothing is written.",
        epilog="exit code: 0, or 2 if the folder cannot be used or the kit could not work",
    )
    command.add_argument("folder", metavar="FOLDER", help="has a folder for each exercise")
    command.add_argument("--exercise", metavar="NAME", help="only the answers to this exercise, such as attention")
    command.add_argument("--format", choices=("text", "json"), default="text", help="json: one line per answer")
    command.add_argument("--seed", type=int, help="draw the inputs from this seed (default: a new one)")
    shared.sandbox_options(command)
    command.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Grade wrong answers and print whether they get the names that they should get."""
    import json

    from .. import course

    if options.exercise:
        course.find_exercise(options.exercise)
    shared.refuse_without_sandbox(options)
    from ..grading import seeds, start

    with start.started_grader(shared.device(options), options.sandbox) as grader:
        from ..mistakes import name_check as names

        answers = names.answers_in(Path(options.folder), options.exercise)
        seed = seeds.new_seed() if options.seed is None else options.seed
        judged = []
        for answer in (bar := progress("checking", answers)):
            wanted = course.exercises()[answer.exercise]
            cells = names.cells_for(answer.exercise, answer.text)
            verdict = grader.grade_cells(cells, [wanted], seed, answer.name).verdict
            judged.append(names.Judgement(answer, verdict.exercises[0]))
            text = judged[-1].text() if options.format == "text" else json.dumps(judged[-1].to_dict())
            bar.write(text, file=sys.stdout)
            sys.stdout.flush()
    if options.format == "text":
        print(f"\n{names.table(judged)}")
    return 0
