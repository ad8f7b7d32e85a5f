"""Which checks decide anything: `python benchmarks/deciding.py [NN ...]`.

Every mistake of the bank is graded in this process, on the inputs of one seed. A check decides a mistake *alone* if no
other check that gives points fails. One that never does could go, and each mistake would still lose points; but not all
of them could, since two may catch the same mistake. So the tables also say which could go *together*: the dearest
first, as long as another check fails for each mistake that loses points.

That a check never decides alone does not make it useless: the bank was written along with the checks, students make
other mistakes, and names and points depend on which checks fail.

The CPU of a check is the median of some gradings of the course's own solution, the check's work and the answer's. What
several checks ask first (`easy_case`) is counted in the first of them. The sandbox and the wire are left out.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import statistics
import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import measuring
import torch

from autograder import course
from autograder.checks.proxies import Local
from autograder.checks.runner import ExerciseRun, GradedCheck, Graders
from autograder.mistakes.bank import bank, namespace_of, right_answer
from autograder.mistakes.name_check import cells_for
from autograder.sandbox.inside import unavailable

SEED = 1
RUNS = 5  # gradings of the solution, after one that does not count
HEAD = ["exercise", "check", "category", "points", "fails", "alone", "ms", "share"]
SUMMARY = ["assignment", "mistakes", "checks", "never alone", "their CPU", "could go together", "their CPU"]
NOTE = (
    "“Fails”: for so many of the exercise's mistakes; “alone”: for so many of these, no other check with points does;"
    " “share”: of the CPU of all checks of the exercise, for a right answer; ×: could go together with the others so"
    " marked. Checks without points count in the CPU only."
)


@dataclass(frozen=True)
class Deciding:
    """What a check decides: how many mistakes it fails, and how many of these no other check fails."""

    check: GradedCheck
    fails: int
    alone: int
    cpu: float  # seconds for the course's own solution
    could_go: bool  # together with the others that could


@dataclass(frozen=True)
class Exercise:
    """The checks of an exercise, and how many mistakes of it there are."""

    name: str
    mistakes: int
    checks: Sequence[Deciding]
    never: Sequence[Deciding]  # those with points that decide no mistake alone


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("assignments", nargs="*", metavar="NN", help="default: all")
    parser.add_argument("--every", action="store_true", help="list those that decide alone or have no points, too")
    parser.add_argument("--mistakes", type=int, metavar="N", help="of each exercise (default: all)")
    options = measuring.options(parser, assignments=["01"], mistakes=3)
    chosen = [course.find_assignment(name) for name in options.assignments] or list(course.assignments().values())
    torch.set_num_threads(1)
    torch.compile = unavailable.uncompiled  # as where students are graded
    graders, rows, sums = Graders(), list[list[str]](), list[list[str]]()
    for assignment in chosen:
        measuring.say(f"{assignment.name} ...")
        found = [looked_at(graders, each.name, options.mistakes) for each in assignment.exercises]
        rows += [row for one in found for row in rows_of(one, options.every)]
        sums.append(summary(assignment.name[:2], found))
    which = "All checks" if options.every else "Checks that never decide alone"
    measuring.report(f"{which}, and their share of the CPU of a right answer", HEAD, rows, NOTE)
    measuring.report("By assignment", SUMMARY, sums)


def looked_at(graders: Graders, exercise: str, most: int | None = None) -> Exercise:
    """The checks of an exercise, by its mistakes, or the first `most` of these."""
    known = list(bank(exercise).values())[:most]
    failed = [costing(quietly(graders, exercise, mistake.local())) for mistake in known]
    costs = costs_of(graders, exercise)
    checks = [check for check in graders.checks[exercise] if check.name in costs]
    never = [check for check in checks if check.points and {check.name} not in failed]
    gone = those_that_could_go(sorted(never, key=lambda check: -costs[check.name]), checks, failed)
    made = [
        Deciding(
            check,
            fails=sum(check.name in names for names in failed),
            alone=failed.count({check.name}),
            cpu=costs[check.name],
            could_go=check.name in gone,
        )
        for check in checks
    ]
    return Exercise(exercise, len(known), made, [one for one in made if one.check in never])


def costing(run: ExerciseRun) -> set[str]:
    """The checks that an answer loses points for."""
    return {check.name for check in run.rejected() if check.points}


def those_that_could_go(
    dearest_first: Iterable[GradedCheck], checks: Iterable[GradedCheck], failed: Sequence[Collection[str]]
) -> set[str]:
    """Checks without which another one still fails for each mistake; `failed` are those that fail for each."""
    left, gone = {check.name for check in checks}, set[str]()
    for check in dearest_first:
        if all((left - {check.name}).intersection(names) for names in failed if names):
            left.discard(check.name)
            gone.add(check.name)
    return gone


def costs_of(graders: Graders, exercise: str) -> dict[str, float]:
    """The CPU seconds that each check takes for the course's own solution, by name, without those that are skipped."""
    runs = [timed(graders, exercise) for _ in range(RUNS + 1)][1:]
    return {name: statistics.median(one[name] for one in runs) for name in runs[0]}


def timed(graders: Graders, exercise: str) -> dict[str, float]:
    """The CPU seconds of each check in one grading of the course's own solution. Raises SystemExit if it fails one."""
    cells = [cell.source for cell in cells_for(exercise, right_answer(exercise))]
    solution = Local(namespace_of(f"{exercise}/solution", *cells), cells[-1])
    began: list[float] = []
    graders.before_each = lambda: began.append(time.process_time())
    try:
        run = quietly(graders, exercise, solution)
    finally:
        graders.before_each = lambda: None
    began.append(time.process_time())
    if wrong := [check.name for check in run.failed()]:
        raise SystemExit(f"The solution of {exercise} fails {', '.join(wrong)}: what it costs says nothing.")
    names = [check.name for check in graders.checks[exercise]]
    spent = {name: later - first for name, first, later in zip(names, began, began[1:], strict=False)}
    return {check.name: spent[check.name] for check in run.checks}


def quietly(graders: Graders, exercise: str, answer: Local) -> ExerciseRun:
    """Grade an answer, whatever it prints."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        return graders.run(exercise, answer, SEED)


def rows_of(one: Exercise, every: bool) -> list[list[str]]:
    """The lines of an exercise: of every check, or of those that never decide alone."""
    total = sum(each.cpu for each in one.checks)
    return [
        [
            f"`{one.name}`",
            f"{each.check.name.removeprefix('test_')}{' ×' if each.could_go else ''}",
            each.check.category,
            f"{each.check.points:g}",
            f"{each.fails} of {one.mistakes}",
            str(each.alone),
            f"{1000 * each.cpu:.1f}",
            f"{each.cpu / total:.0%}",
        ]
        for each in (one.checks if every else one.never)
    ]


def summary(name: str, found: Sequence[Exercise]) -> list[str]:
    """The line of an assignment."""
    checks = [each for one in found for each in one.checks]
    never = [each for one in found for each in one.never]
    gone = [each for each in never if each.could_go]
    total = sum(each.cpu for each in checks)
    share = [f"{sum(each.cpu for each in some) / total:.0%}" for some in (never, gone)]
    mistakes = str(sum(one.mistakes for one in found))
    return [name, mistakes, str(len(checks)), str(len(never)), share[0], str(len(gone)), share[1]]


if __name__ == "__main__":
    main()
