"""What the transcript keeps of errors: enough to tell mistakes from each other, and no matter of wording."""

import pytest

from autograder.checks.proxies import Local, Submission
from autograder.exercises.families.refusals import ended
from autograder.mistakes.bank import namespace_of

TEXT = """
def full(n):
    raise RuntimeError(f"no room for {n}")


def asks(n):
    raise ValueError(f"{n} is too many")


def crashes(n):
    return [][n]


def accepts(n):
    return n


def needs(name):
    raise KeyError(f"nobody is called {name}")
"""


@pytest.fixture
def submission():
    return Submission(Local(namespace_of("wrong/mine", TEXT), TEXT))


@pytest.mark.parametrize(
    "name, kept",
    [
        ("full", ("RuntimeError", "")),  # in everybody's own words
        ("needs", ("KeyError", "")),
        ("asks", ("ValueError", ["3"])),
        ("crashes", ("IndexError", "list index out of range")),  # Python's words, which say what went wrong
    ],
)
def test_of_an_error_that_somebody_raises_the_wording_is_not_compared(submission, name, kept):
    submission.function(name).error(3)
    assert submission.transcript.entries == [("error", *kept)]


def test_of_a_call_that_should_end_in_an_error_the_kind_of_error_is_compared_alone(submission):
    errors = [ended(submission, submission.function(name), 3) for name in ("asks", "crashes", "accepts")]
    assert [error and error.type for error in errors] == ["ValueError", "IndexError", None]
    assert submission.transcript.entries == [("noted", "ValueError"), ("noted", "IndexError"), ("noted", "")]
