"""What systematic mutants of right answers get: `python benchmarks/mutants.py [EXERCISE …] [--sample N] [--seed N]`.

The course's solutions and the right answers in other styles are changed in one place each (by `slips` in
autograder/mistakes/edits.py), and graded as if they were handed in, by prices. Those that get full marks are equivalent
to a right answer, or a check is missing. What a person has to judge stands in reports/mutants.md: the diff of each of
them, and of each that was named. There are tens of thousands, and each takes one to four seconds: `--sample 20` grades
20 of each exercise, in half an hour.
"""

import argparse
import os
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import measuring

from autograder import course
from autograder.batch.commands import progress
from autograder.batch.processes import die_with
from autograder.errors import UserError
from autograder.grading.grader import Grader
from autograder.mistakes import matrix
from autograder.mistakes.bank import right_answer, styles_of
from autograder.mistakes.edits import Mutant, mutants_of
from autograder.mistakes.name_check import cells_for
from autograder.sandbox import jail
from autograder.sandbox.parent import WarmParent
from autograder.verdict import FULL, NOT_TRIED, PRICES, RAISED, STOPPED_WITH, UNSAFE, Outcome

PAGE = Path("reports", "mutants.md")  # in the course's folder
SOLUTION = "the solution"
ERRORS = RAISED, STOPPED_WITH, NOT_TRIED  # how the reasons of checks begin that could not compare anything
HEAD = """# Mutants of right answers

Made by `make mutants`. Each is a right answer with one edit. *Full marks*: it is equivalent, or a check is missing.
*Named*: of those that lose points. *Placed*: those without a name of which the line, the step or the kind of failure is
told. *Lose much*: more than 60% of the points; *of these*: how many of them raise an error at every turn. *Only raise*:
all that do that.
"""
MUCH = 0.6  # the share of an exercise's points that one slip should not cost
COLUMNS = "exercise", "mutants", "full marks", "lose points", "named", "placed", "with a line", "lose much", "of these"
COLUMNS += ("only raise",)


@dataclass(frozen=True)
class Task:
    """A mutant of an answer to an exercise, to be graded on the inputs of that seed."""

    exercise: str
    answer: str  # the name of the right answer
    mutant: Mutant
    seed: int


@dataclass(frozen=True)
class Result:
    """What grading a mutant gave."""

    task: Task
    outcome: Outcome

    @property
    def is_named(self) -> bool:
        return any(not diagnosis.is_place for diagnosis in self.outcome.diagnosis)

    @property
    def has_line(self) -> bool:
        return any(diagnosis.line for diagnosis in self.outcome.diagnosis)

    @property
    def only_raises(self) -> bool:
        """Whether every check ended in an error or was not even tried."""
        reasons = [check.reason for check in self.outcome.checks if check.points]
        return all(reason.startswith(ERRORS) for reason in reasons)

    @property
    def loses_much(self) -> bool:
        """Whether it loses more than MUCH of its points."""
        return self.outcome.score < (1 - MUCH) * self.outcome.max_score - 1e-9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("exercises", nargs="*", metavar="EXERCISE", help="default: all")
    parser.add_argument("--sample", type=int, metavar="N", help="mutants of each exercise (default: all)")
    parser.add_argument("--seed", type=int, default=1, help="of the sample and of the inputs (default: 1)")
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="processes at work at once (default: 1)")
    options = measuring.options(parser, exercises=["softmax"], sample=1)
    results: list[Result] = []
    try:
        wanted = [course.find_exercise(name).name for name in options.exercises] or list(course.exercises())
        tasks = [task for exercise in wanted for task in sample(exercise, options.sample, options.seed)]
        for result in progress("grading", graded(tasks, options.workers), len(tasks)):
            results.append(result)
    except UserError as error:
        sys.exit(f"mutants: {error}")
    except KeyboardInterrupt:
        print(f"mutants: stopped after {len(results)}", file=sys.stderr)
    if results:
        matrix.write_page(PAGE, "\n".join([HEAD, table(results), *judged_by_hand(results)]))
        print(table(results))


def right_answers(exercise: str) -> dict[str, str]:
    """The texts of the solution and of the right answers in other styles, by name."""
    return {SOLUTION: right_answer(exercise)} | {style: right_answer(exercise, style) for style in styles_of(exercise)}


def sample(exercise: str, size: int | None, seed: int) -> list[Task]:
    """All mutants of an exercise's right answers in order, or `size` of them, drawn by chance."""
    tasks = [
        Task(exercise, name, mutant, seed)
        for name, text in right_answers(exercise).items()
        for mutant in mutants_of(text)
    ]
    if size is None or size >= len(tasks):
        return tasks
    chosen = random.Random(f"{seed}/{exercise}").sample(range(len(tasks)), size)
    return [tasks[index] for index in sorted(chosen)]


# --- grading ----------------------------------------------------------------------------------------


def graded(tasks: Sequence[Task], workers: int) -> Iterator[Result]:
    """The results in the order of the tasks. The sandbox's limits end what never ends."""
    with get_context("spawn").Pool(workers, _start, (os.getpid(),)) as pool:
        yield from pool.imap(_grade, tasks, chunksize=8)  # mutants of one exercise share what is known of its mistakes


def _start(head: int) -> None:
    """Give this process a Grader. It is killed in the end, and its sandbox with it."""
    global grader
    die_with(head)
    level = FULL if jail.refusal() is None else UNSAFE  # without a sandbox too: a mutant of our own code means no harm
    grader = Grader(WarmParent(level=level))


def _grade(task: Task) -> Result:
    wanted = course.exercises()[task.exercise]
    verdict = grader.grade_cells(cells_for(task.exercise, task.mutant.source), [wanted], task.seed).verdict
    return Result(task, verdict.exercises[0].credited(PRICES))


# --- the page ---------------------------------------------------------------------------------------


def table(results: Sequence[Result]) -> str:
    """The counts per exercise and of all, as Markdown."""
    exercises = list(dict.fromkeys(result.task.exercise for result in results))
    rows = [_row(name, [result for result in results if result.task.exercise == name]) for name in exercises]
    lines = [_line(COLUMNS), "|---|" + "---:|" * (len(COLUMNS) - 1), *map(_line, [*rows, _row("all", results)])]
    return "\n".join(lines) + "\n"


def _row(name: str, results: Sequence[Result]) -> list[str]:
    losing = [result for result in results if not result.outcome.full]
    counts = [
        sum(result.is_named for result in losing),
        sum(bool(result.outcome.diagnosis) and not result.is_named for result in losing),
        sum(result.has_line for result in losing),
        sum(result.loses_much for result in losing),
        sum(result.loses_much and result.only_raises for result in losing),
        sum(result.only_raises for result in losing),
    ]
    shares = [f"{count} ({count / len(losing):.0%})" if losing else "0" for count in counts]
    return [name, str(len(results)), str(len(results) - len(losing)), str(len(losing)), *shares]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def judged_by_hand(results: Sequence[Result]) -> Iterator[str]:
    """The parts of the page with the mutants that a person has to judge: what has full marks, and what was named."""
    yield "## Full marks: equivalent, or a check is missing\n"
    yield from (_entry(result) for result in results if result.outcome.full)
    yield "## Named: rightly, or not\n"
    yield from (_entry(result) for result in results if result.outcome.diagnosis)


def _entry(result: Result) -> str:
    task, outcome = result.task, result.outcome
    lines = [f"**{task.exercise}**, {task.answer}: {task.mutant.kind}, {outcome.score:g} of {outcome.max_score:g}\n"]
    for diagnosis in outcome.diagnosis:
        where = f" In the line `{diagnosis.line}`." if diagnosis.line else ""
        lines.append(f"- `{diagnosis.id}`: {diagnosis.message}{where}")
    return "\n".join([*lines, "", "```diff", task.mutant.diff(), "```", ""])


if __name__ == "__main__":
    main()
