"""Collecting checks: from functions and from classes, and what is refused before any submission is graded by it."""

import pytest

from autograder.checks.proxies import Local
from autograder.checks.runner import Graders
from autograder.errors import CourseError, GraderError

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
def collect(tmp_path, request):
    """Graders of one exercise, `times`, whose checks are the given text."""

    def collect(text):
        # the package is named for the test, since what was imported stays imported
        folder = tmp_path / f"package_{abs(hash(request.node.nodeid))}" / "times"
        folder.mkdir(parents=True)
        for package in (folder.parent, folder):
            (package / "__init__.py").touch()
        (folder / "checks.py").write_text(HEAD + text, encoding="utf-8")
        return Graders(folder.parent)

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


WRONG = {
    "has no other mark": "@pytest.mark.parametrize('n', [1, 2])\n@check('values', points=1)\ndef test_x(n): 'Says.'",
    "marked with `skip`": "@pytest.mark.skip\n@check('values', points=1)\ndef test_x(draw): 'Says.'",
    "not marked with `@check": "def test_x(submission): 'Says.'",
    "takes `tmp_path`; a check may take `submission` and `draw`": (
        "@check('values', points=1)\ndef test_x(submission, tmp_path): 'Says.'"
    ),
    "has no docstring": "@check('values', points=1)\ndef test_x(submission): pass",
    "not the only one of its name": (
        "class TestX(Family):\n    @check('values', points=1)\n    def test_x(self): 'Says.'\n"
        "@check('values', points=1)\ndef test_x(submission): 'Says.'"
    ),
    "`points` name test_y": (
        "class TestX(Family):\n    points = {'test_y': 1}\n    test_times = test_dropped = None\n"
        "    @check('values', points=1)\n    def test_x(self): 'Says.'"
    ),
    "`sentences` name test_times": (
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


def test_what_cannot_be_imported_is_told(collect):
    with pytest.raises(GraderError, match="No module named 'no_such_module'"):
        collect("import no_such_module")
