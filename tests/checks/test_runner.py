"""Collecting checks: from functions and from classes, and what is refused before any submission is graded by it."""

import importlib.util
import json
import subprocess
import sys

import pytest
from conftest import ROOT

from autograder import course
from autograder.checks.proxies import Local
from autograder.checks.runner import Graders
from autograder.errors import CourseError, Ended, GraderError

HEAD = """
import pytest
from autograder.checks.api import CheckFailed, check

class Family:
    factor = 1

    @check("values", points=0.5)
    def test_times(self, submission, draw):
        '''It multiplies by its factor.'''
        if submission.function("times")(3) != 3 * self.factor:
            raise CheckFailed("It does not.")

    @check("shape", points=0.5, witnessed=True)
    def test_dropped(self, submission):
        '''This one does not fit.'''
"""


@pytest.fixture
def collect(tmp_path):
    """Graders of one exercise, `times`, whose checks are the given text."""

    def collect(text):
        path = tmp_path / "checks.py"
        path.write_text(HEAD + text, encoding="utf-8")
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        graders = Graders({"times": module})
        assert graders.checks["times"]
        return graders

    return collect


def test_a_family_is_a_class_of_checks(collect):
    graders = collect(
        """
class TestTimes(Family):
    factor = 2
    points = {"test_times": 1}
    sentences = {"test_times": "It doubles."}
    test_dropped = None

    @check("shape", points=0.5, witnessed=True)
    def test_own(self):
        '''Its own check. A second sentence

        that stands further down.'''

@check("mode", points=0)
def test_function(submission, draw):
    '''A function beside the class.'''
"""
    )
    found = [(c.name, c.category, c.points, c.sentence, c.takes, c.witnessed) for c in graders.checks["times"]]
    assert found == [
        ("test_times", "values", 1.0, "It doubles.", ("submission", "draw"), False),
        ("test_own", "shape", 0.5, "Its own check. A second sentence", (), True),
        ("test_function", "mode", 0.0, "A function beside the class.", ("submission", "draw"), False),
    ]
    run = graders.run("times", Local({"times": lambda x: 2 * x}), seed=0)
    assert run.failed() == []
    run = graders.run("times", Local({"times": lambda x: 3 * x}), seed=0)
    assert [check.message for check in run.failed()] == ["It doubles. It does not."]


def test_a_check_that_ends_the_process_could_not_judge(collect):
    """A signal still ends the run."""
    graders = collect(
        "raises = SystemExit\n@check('mode', points=1)\ndef test_x(submission):\n    'Says.'\n    raise raises"
    )
    done = graders.run("times", Local({"times": lambda x: x}), seed=0)
    assert done.unjudged["test_x"].startswith("test_x ended with SystemExit (")
    graders.checks["times"][-1].test.__globals__["raises"] = Ended(143)
    with pytest.raises(Ended):
        graders.run("times", Local({"times": lambda x: x}), seed=0)


WRONG = {
    "the only mark of a check": "@pytest.mark.parametrize('n', [1, 2])\n@check('values', points=1)\ndef test_x(n):"
    " 'Says.'",
    "marked with `skip`": "@pytest.mark.skip\n@check('values', points=1)\ndef test_x(draw): 'Says.'",
    "not marked with `@check": "def test_x(submission): 'Says.'",
    "takes `tmp_path`; a check takes `submission` and `draw`": (
        "@check('values', points=1)\ndef test_x(submission, tmp_path): 'Says.'"
    ),
    "has no docstring": "@check('values', points=1)\ndef test_x(submission): pass",
    "not the only one of its name": (
        "class TestX(Family):\n    @check('values', points=1)\n    def test_x(self): 'Says.'\n"
        "@check('values', points=1)\ndef test_x(submission): 'Says.'"
    ),
    "`points` for test_y": (
        "class TestX(Family):\n    points = {'test_y': 1}\n    test_times = test_dropped = None\n"
        "    @check('values', points=1)\n    def test_x(self): 'Says.'"
    ),
    "`sentences` for test_times": (
        "class TestX(Family):\n    sentences = {'test_times': 'It.'}\n    test_times = test_dropped = None\n"
        "    @check('values', points=1)\n    def test_x(self): 'Says.'"
    ),
}


@pytest.mark.parametrize("why", WRONG)
def test_what_cannot_be_called_is_refused(collect, why):
    """What passes under pytest and would cost a right answer its points is told before anything is graded."""
    with pytest.raises(GraderError) as raised:
        collect(WRONG[why])
    message = str(raised.value)
    assert message.startswith("the check test_x in times/checks.py ") and why in message and "\n" not in message
    assert isinstance(raised.value, CourseError)


def test_a_signal_ends_an_import(monkeypatch):
    def end(name):
        raise Ended(143)

    monkeypatch.setattr(course.importlib, "import_module", end)
    with pytest.raises(Ended):
        course.module_of("softmax", "checks")


def test_what_cannot_be_imported_is_told(tmp_path, monkeypatch):
    """A course's own exercise whose checks cannot be imported is named, with the reason."""
    for path, text in {"nbgrader_config.py": "", "exercises/times/checks.py": "import no_such_module"}.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    cell = "### BEGIN HIDDEN TESTS\n# exercise: times\n### END HIDDEN TESTS"
    meta = {"nbgrader": {"grade_id": "times", "grade": True, "solution": False, "locked": True, "points": 1}}
    notebook = {"cells": [{"cell_type": "code", "id": "times", "source": cell, "metadata": meta}]}
    (tmp_path / "source" / "01").mkdir(parents=True)
    (tmp_path / "source" / "01" / "01.ipynb").write_text(json.dumps(notebook))
    monkeypatch.chdir(tmp_path)
    graders = Graders()
    assert list(graders.checks) == ["times"] and "other" not in graders.checks
    with pytest.raises(GraderError, match="exercises/times/checks.py cannot be imported.*'no_such_module'"):
        graders.run("times", Local({}), 1)


def test_one_exercise_needs_its_own_modules_alone():
    asks = (
        "import sys; from autograder.checks.runner import Graders; graders = Graders(); graders.checks['softmax'];"
        "print(*[name for name in sys.modules if name.endswith(('.checks', '.mistakes')) and '.exercises.' in name])"
    )
    done = subprocess.run([sys.executable, "-c", asks], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["autograder.exercises.softmax.checks"]
