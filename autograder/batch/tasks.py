"""A task, which is one submission as a worker gets it, and how a worker grades it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .. import course
from ..errors import SandboxError
from ..sandbox.jail import START_SECONDS, Limits
from ..submission import read
from ..submission.restore import RestoredCell, restore
from ..verdict import FULL, KILLED, STOPPED, Graded, Outcome, Verdict, without_grade

if TYPE_CHECKING:  # it imports torch
    from ..grading.grader import Grader
    from ..grading.trials import Trial

ATTEMPTS = 3  # how many workers may die of a submission
# Seconds after which the head gives up on a worker that has a task: the worker itself stops at the submission's
# deadline, but may first have to start its sandbox, and a process in it.
PATIENCE = Limits().submission + 2 * START_SECONDS


@dataclass(frozen=True)
class Task:
    """One submission to be graded; a worker gets nothing of it but its bytes.

    `alone`: it is graded once more, by itself, because a deadline or a kill stopped it before.
    `trial`: the assignment's own notebook is graded instead, see `Grader.grade_trial`.
    `sandbox`: the level of the workers' sandboxes, which the verdict names.
    `exercise`: only this one is graded. `tells`: each outcome is wanted as soon as it is there.
    `waived`: the checks that are not made, by exercise.
    """

    student: str
    key: str
    data: bytes
    assignment: str
    seed: int
    alone: bool = False
    trial: Trial | None = None
    sandbox: str = FULL
    exercise: str = ""
    tells: bool = False
    waived: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Noted:
    """The outcome of an exercise by its checks, before its mistakes are named: it counts if the worker dies of that."""

    outcome: Outcome


def grade(
    grader: Grader,
    task: Task,
    send: Callable[[Outcome], None] | None = None,
    note: Callable[[Outcome], None] | None = None,
) -> Graded | SandboxError:
    """The Graded of a task, or the SandboxError that stops all grading.

    `send` takes early outcomes to the head, and `note` those by the checks alone.
    """

    def tell(outcome: Outcome) -> None:
        if send and task.tells and outcome.status not in STOPPED:  # those may be graded again
            send(outcome)

    if grader.ledger is not None:
        grader.ledger.about = task.student
    try:
        found = course.find_assignment(task.assignment)
        if task.trial:
            return Graded(grader.grade_trial(found, task.trial, task.seed))
        where = "", task.assignment
        given = cells(task), wanted(task), task.seed, *where
        how: dict[str, Any] = {"alone": task.alone, "waived": task.waived}
        if note:
            return grader.grade_cells(*given, **how, tell=tell, note=note)
        return grader.grade_cells(*given, **how, tell=tell)
    except SandboxError as error:
        return error
    except Exception as mistake:
        from ..grading.internal import internal_error

        return ungraded(task, "error", internal_error(mistake))


def wanted(task: Task) -> list[course.Exercise]:
    """The exercises that a task is graded on."""
    return [e for e in course.find_assignment(task.assignment).exercises if task.exercise in ("", e.name)]


def cells(task: Task) -> list[RestoredCell]:
    """The submission's cells, restored."""
    found = course.find_assignment(task.assignment)
    return restore(read.read_notebook(task.data), found.cells, found)


def ungraded(task: Task, status: str, message: str, noted: Mapping[str, Outcome] | None = None) -> Graded:
    """The Graded of a task that no worker could grade: 0 points and the reason, but for the exercises `noted`."""
    noted = noted or {}
    outcomes = [noted.get(e.name) or without_grade(e.name, e.points, status, message) for e in wanted(task)]
    verdict = Verdict("", outcomes, task.seed, task.assignment, sandbox=task.sandbox)
    return Graded(verdict, cells(task), {})


def killed(task: Task, noted: Mapping[str, Outcome] | None = None) -> Graded:
    """The Graded of a task that ATTEMPTS workers died of, or that a worker never finished.

    Exercises that were `noted` before keep their points, without names.
    """
    return ungraded(task, "killed", KILLED, noted)
