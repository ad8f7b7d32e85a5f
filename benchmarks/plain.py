"""The graders' checks on code in this very process: no sandbox, no wire, no pytest session.

What a test cell of a stock course calls in the student's kernel, and what grading costs at the least.
"""

import contextlib
import functools
import importlib
import inspect
import io
import json
import logging
import os
import warnings

import pytest

from autograder.checks.api import Draw
from autograder.checks.proxies import Local, Submission
from autograder.checks.source_text import Source

SEED = 1
SEED_VARIABLE = "BENCHMARK_SEED"  # of the inputs, for kernels
FOUND = "checks: "  # what a test cell prints before the JSON of its checks


class Here(Local):
    """The names in `namespace`, made by `cells`: the texts that ran so far."""

    def __init__(self, namespace, cells):
        super().__init__(namespace)
        self.cells = tuple(cells)

    def source(self, name):
        return Source(name, self.cells, len(self.cells))


def score(exercise, namespace, cells, seed=SEED):
    """The points of one exercise."""
    return _points(exercise, found(exercise, namespace, cells, seed))


def shown(exercise, namespace, cells):
    """The points of one exercise, as the result of its test cell, which also prints why which checks failed."""
    logging.disable()  # torch logs what it compiles to the stderr that it found, and stock nbgrader takes all points
    try:
        errors = found(exercise, namespace, cells, int(os.environ.get(SEED_VARIABLE, SEED)))
    finally:
        logging.disable(logging.NOTSET)
    print(f"\n{FOUND}{json.dumps(errors)}")
    return _points(exercise, errors)


def found(exercise, namespace, cells, seed=SEED):
    """{name of a check: why it failed, empty if it passed}, without what cannot be tried here, as for want of a GPU."""
    errors = {name: error(exercise, name, namespace, cells, seed) for name in checks(exercise)}
    return {name: text for name, text in errors.items() if text is not None}


def _points(exercise, errors):
    return sum(points for name, (_, points) in checks(exercise).items() if errors.get(name) == "")


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


def error(exercise, name, namespace, cells, seed=SEED):
    """Why the code in `namespace` fails a check; empty if it passes, None if that cannot be tried here."""
    if not callable(namespace.get(exercise)):
        return f"there is no {exercise}"
    check, _ = checks(exercise)[name]
    stderr = contextlib.redirect_stderr(io.StringIO())  # what is written there costs all points in stock nbgrader
    with warnings.catch_warnings(), stderr:
        warnings.simplefilter("ignore")
        submission = Submission(Here(namespace, cells))
        fixtures = {"submission": submission, "draw": Draw(seed, f"{exercise}/{name}")}
        try:
            check(**{taken: fixtures[taken] for taken in inspect.signature(check).parameters})
            submission.settle()
        except pytest.skip.Exception:
            return None
        except Exception as problem:
            return f"{type(problem).__name__}: {problem}"
    return ""
