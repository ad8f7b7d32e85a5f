"""The graders' checks on code in this very process: no sandbox, no wire, no pytest session.

What a test cell of a stock course calls in the student's kernel, and what grading costs at the least.
"""

import importlib
import inspect
import warnings

import pytest

from autograder.graders.kit import Draw
from autograder.graders.sources import Source
from autograder.graders.submission import Local, Submission


class Here(Local):
    """The names in `namespace`, made by `cells`: the texts that ran so far."""

    def __init__(self, namespace, cells):
        super().__init__(namespace)
        self.cells = tuple(cells)

    def source(self, name):
        return Source(name, self.cells, len(self.cells))


def score(exercise, namespace, cells, seed=1):
    """The points of one exercise, which its test cell shows: so many stock nbgrader gives."""
    return sum(points for points, passed in outcomes(exercise, namespace, cells, seed).values() if passed)


def outcomes(exercise, namespace, cells, seed=1):
    """{check: (points, whether it passed)} of one exercise; nothing if it is not defined."""
    if not callable(namespace.get(exercise)):
        return {}
    transport = Here(namespace, cells)
    found = {}
    with warnings.catch_warnings():  # on stderr, they would cost all points in stock nbgrader
        warnings.simplefilter("ignore")
        for name, check, points in checks(exercise):
            passed = _passes(check, Submission(transport), Draw(seed, f"{exercise}/{name}"))
            if passed is not None:
                found[name] = points, passed
    return found


def checks(exercise):
    """(name, function, points) of every check of an exercise."""
    module = importlib.import_module(f"autograder.graders.test_{exercise}")
    for name, check in inspect.getmembers(module, inspect.isfunction):
        if name.startswith("test_"):
            given = {"layout": module.LAYOUT} if "layout" in inspect.signature(check).parameters else {}
            marks = {mark.name: mark.args for mark in check.pytestmark}
            yield name, (check, given), float(marks["points"][0])


def _passes(check, submission, draw):
    """Whether a check passes; None if it does not apply here."""
    function, given = check
    try:
        function(submission, draw, **given)
    except pytest.skip.Exception:
        return None
    except Exception:
        return False
    return True
