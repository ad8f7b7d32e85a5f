"""The graders' checks on code in this very process: no sandbox, no wire, no pytest session.

What a test cell of a stock course calls in the student's kernel, and what grading costs at the least.
"""

import contextlib
import functools
import importlib
import inspect
import io
import warnings

import pytest

from autograder.checks.api import Draw
from autograder.checks.proxies import Local, Submission
from autograder.checks.source_text import Source

SEED = 1


class Here(Local):
    """The names in `namespace`, made by `cells`: the texts that ran so far."""

    def __init__(self, namespace, cells):
        super().__init__(namespace)
        self.cells = tuple(cells)

    def source(self, name):
        return Source(name, self.cells, len(self.cells))


def score(exercise, namespace, cells, seed=SEED):
    """The points of one exercise."""
    passed = {name for name in checks(exercise) if passes(exercise, name, namespace, cells, seed)}
    return sum(points for name, (_, points) in checks(exercise).items() if name in passed)


@functools.cache
def checks(exercise):
    """{name: (function of a submission and a draw, points)} of the checks of an exercise."""
    module = importlib.import_module(f"autograder.exercises.{exercise}.checks")
    found = {}
    for owner in (module, *(family() for name, family in vars(module).items() if name.startswith("Test"))):
        others = getattr(owner, "points", {})
        for name, check in inspect.getmembers(owner, inspect.isroutine):
            if name.startswith("test_"):
                points = next(mark.args[0] for mark in check.pytestmark if mark.name == "points")
                found[name] = check, float(others.get(name, points))
    return found


def passes(exercise, name, namespace, cells, seed=SEED):
    """Whether the code in `namespace` passes a check; one that is skipped, as for want of a GPU, carries no points."""
    if not callable(namespace.get(exercise)):
        return False
    check, _ = checks(exercise)[name]
    stderr = contextlib.redirect_stderr(io.StringIO())  # what stands there costs all points in stock nbgrader
    with warnings.catch_warnings(), stderr:
        warnings.simplefilter("ignore")
        try:
            submission = Submission(Here(namespace, cells))
            check(submission, Draw(seed, f"{exercise}/{name}"))
            submission.settle()
        except (Exception, pytest.skip.Exception):
            return False
    return True
