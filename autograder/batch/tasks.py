"""One submission as a worker gets it, and what a worker makes of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .. import course
from ..errors import SandboxError
from ..sandbox.jail import Limits
from ..sandbox.parent import START_SECONDS
from ..submission import read
from ..submission.restore import RestoredCell, restore
from ..verdict import Graded, Verdict, without_grade

if TYPE_CHECKING:  # it imports torch
    from ..grading.grader import Grader

ATTEMPTS = 3  # how often a submission may take its worker along
# Seconds after which who gave a task to a worker gives up on that: the worker ends it by itself at the submission's
# deadline, and may have had to start its sandbox before, and a process in it.
PATIENCE = Limits().submission + 2 * START_SECONDS


@dataclass(frozen=True)
class Task:
    """One submission to be graded: its bytes, which are all that a worker gets of it.

    `alone`: it is graded once more, while nothing else is, since a deadline or a kill has stopped it before.
    `solution`: what is graded is the assignment's own solution, see `Grader.grade_solution`.
    """

    student: str
    key: str
    data: bytes
    assignment: str
    seed: int
    alone: bool = False
    solution: bool = False


def grade(grader: Grader, task: Task) -> Graded | SandboxError:
    """The Graded of a task, or the SandboxError that stops all grading."""
    try:
        found = course.find_assignment(task.assignment)
        if task.solution:
            return Graded(grader.grade_solution(found, task.seed))
        return grader.grade_cells(cells(task), found.exercises, task.seed, "", task.assignment, alone=task.alone)
    except SandboxError as error:
        return error
    except Exception as mistake:
        from ..grading.grader import internal_error

        return ungraded(task, "error", internal_error(mistake))


def cells(task: Task) -> list[RestoredCell]:
    """The submission's cells, restored."""
    found = course.find_assignment(task.assignment)
    return restore(read.read_notebook(task.data), found.cells, found)


def ungraded(task: Task, status: str, message: str) -> Graded:
    """The Graded of a task that no worker could grade: 0 points, and why."""
    exercises = course.find_assignment(task.assignment).exercises
    outcomes = [without_grade(e.name, e.points, status, message) for e in exercises]
    return Graded(Verdict("", outcomes, task.seed, task.assignment), cells(task), {})


def killed(task: Task) -> Graded:
    """The Graded of a task that ATTEMPTS workers died of, or that one did not end."""
    return ungraded(task, "killed", "Whenever it was graded, the grading process ended, or had to be ended.")
