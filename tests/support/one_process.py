"""Runs the kit's commands in the process of the tests, all with one warm sandbox: starting takes most of their time.

What they do in processes of their own otherwise (`batch/pool.py`, `batch/feedback_pool.py`) has tests of its own.
"""

import contextlib
import sys

import pytest

from autograder import cli, course
from autograder.batch import feedback_pool, tasks
from autograder.cli import grade
from autograder.grading import start, store
from autograder.grading.grader import Grader
from autograder.nbgrader import building, preprocessors
from autograder.nbgrader.runs import NbgraderCourse


class Shared:
    """A warm sandbox that nobody closes, since others go on using it."""

    def __init__(self, parent):
        self.parent = parent

    def __getattr__(self, name):
        return getattr(self.parent, name)

    def close(self):
        pass


class Engine:
    """Grades in this process, with the checks as they are when it begins."""

    def __init__(self, sandbox, learnt):
        self.settings = sandbox, learnt

    def __enter__(self):
        self.grader = Grader(*self.settings)
        return self

    def __exit__(self, *exc):
        pass

    def warm(self, total):
        pass

    def graded(self, coming, total, alone=False):
        for task in coming:
            yield task, tasks.grade(self.grader, task)


@contextlib.contextmanager
def kit(grader):
    """Yields a function that runs a command in a folder, with the sandbox of a Grader; it returns the exit code."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "dont_write_bytecode", True)
        patch.setattr(grade, "engine_for", lambda *options: Engine(Shared(grader.parent), options[-1]))
        patch.setattr(building, "WarmParent", lambda **options: Shared(grader.parent))
        patch.setattr(preprocessors, "warm_grader", lambda unsafe, device: Grader(Shared(grader.parent)))
        patch.setattr(start, "started_grader", lambda *options: Grader(Shared(grader.parent)))
        patch.setattr(feedback_pool, "feedback", _feedback)

        def run(place, *arguments):
            with pytest.MonkeyPatch.context() as there:
                there.chdir(place)
                forget()
                return cli.main([str(argument) for argument in arguments])

        yield run
    forget()


def _feedback(root, assignment, students, jobs):
    write = NbgraderCourse(root).feedback(assignment)
    for student in students:
        problem = feedback_pool._written(write, student, False)
        yield student, problem, not problem


def forget():
    """As if the process began anew: the course is read and its checks are imported again."""
    course.forget()
    store.parts_of.cache_clear()
    for name in [name for name in sys.modules if name.startswith("exercises_of_")]:
        del sys.modules[name]
