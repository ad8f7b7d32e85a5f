"""The visible checks let right answers through, and stop at what costs points."""

import functools
import itertools
import math
import time
from fractions import Fraction

import pytest
import torch
from conftest import ROOT

from autograder import course
from autograder.checks.runner import Graders
from autograder.mistakes import visible
from autograder.mistakes.bank import bank
from autograder.mistakes.matrix import COSTLY

EXERCISES = sorted(course.exercises(ROOT))
SHARE = Fraction(1, 10)  # of the costly mistakes may pass all the same


@pytest.fixture(scope="module")
def graders():
    return Graders()


@pytest.mark.parametrize("exercise", EXERCISES)
def test_right_answers_pass_in_no_time(exercise, monkeypatch):
    # traced and guarded as ever, but not made into machine code, which takes a C++ compiler and a minute
    monkeypatch.setattr(torch, "compile", functools.partial(torch.compile, backend="eager"))
    answers = [
        path.read_text(encoding="utf-8") for path in sorted((course.folder_of(exercise) / "answers").glob("*.py"))
    ]
    for answer in answers:
        assert visible.objection(exercise, answer) is None
    started = time.process_time()  # what is imported late has been imported by now
    visible.objection(exercise, answers[0])
    assert time.process_time() - started < 2


@pytest.mark.parametrize("exercise", EXERCISES)
def test_costly_mistakes_do_not_pass(graders, exercise):
    def is_costly(id):
        run = graders.run(exercise, bank(exercise)[id].local(), seed=1)
        return sum(check.points for check in run.failed()) >= COSTLY

    passed = [id for id, mistake in bank(exercise).items() if not visible.catches(mistake)]
    missed = [id for id in passed if is_costly(id)]
    needed = len(missed) * (1 - SHARE) / SHARE  # as many costly ones must be caught; grading stops at the last of them
    caught = (id for id in bank(exercise) if id not in passed and is_costly(id))
    found = len(list(itertools.islice(caught, math.ceil(needed))))
    assert found >= needed, f"these pass the visible check of {exercise}: {missed}"


def test_an_answer_that_fails_is_told_why():
    error = visible.objection("softmax", "def softmax(scores, dim=-1):\n    return scores")
    assert isinstance(error, AssertionError) and "by hand the weights are 1/4 and 3/4" in str(error)
    assert isinstance(visible.objection("softmax", "scores = "), SyntaxError)
    assert isinstance(visible.objection("softmax", "pass"), NameError)


def test_the_visible_check_holds_no_hidden_part():
    for exercise in EXERCISES:
        text = visible.text_of(exercise)
        assert "assert " in text and "### BEGIN" not in text and "# exercise:" not in text
