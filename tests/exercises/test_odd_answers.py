"""No check ends by a mistake of its own, whatever an answer gives: a student would have to be graded by hand.

`make odd` tries every kind of odd value at all times; the suite tries some of each exercise.
"""

import contextlib
import io
import os

import pytest
from conftest import ROOT
from odd_answers import KINDS, WHEN, Odd, some

from autograder import course
from autograder.mistakes.bank import namespace_of, right_answer
from autograder.mistakes.name_check import cells_for

EXERCISES = sorted(course.exercises(ROOT))
MANY = int(os.environ.get("ODD", "3"))  # of each exercise


def run_of(graders, exercise, kind, when, seed=1):
    """The run of the solution of an exercise, some of whose calls give an odd value."""
    cells = [cell.source for cell in cells_for(exercise, right_answer(exercise))]
    odd = Odd(namespace_of(exercise, *cells), cells[-1], KINDS[kind], WHEN[when])
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        return graders.run(exercise, odd, seed)


@pytest.mark.drawn(16, "exercises that get odd answers", by="exercise")
@pytest.mark.parametrize("exercise", EXERCISES)
def test_no_check_ends_by_a_mistake_of_its_own(graders, exercise):
    found = {}
    for kind, when in some(exercise, MANY, seed=1):
        run = run_of(graders, exercise, kind, when)
        assert run.stopped is None
        found |= {f"{kind}, {when}: {problem}": None for problem in run.unjudged}
    assert sorted(found) == []


@pytest.mark.parametrize(
    "exercise, kind, when",
    [
        ("clip_gradients", "on meta", "always"),  # its length was asked for
        ("clip_gradients", "an empty tuple", "later"),
        ("Block", "empty", "later"),
        ("Block", "the first on meta", "at first"),
        ("LatentAttention", "None", "always"),
        ("ParallelCoAttention", "the last on meta", "later"),
        ("SelfAttentionNaive", "the first on meta", "always"),
        ("capped_attention", "empty", "later"),
        ("train", "the last on meta", "always"),
    ],
)
def test_what_once_ended_a_check_by_a_mistake(graders, exercise, kind, when):
    assert not run_of(graders, exercise, kind, when).unjudged
