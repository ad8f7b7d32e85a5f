"""No message tells a right value for an input that was drawn: a table of told values would be an answer.

Wrong answers are graded on two seeds. Those that give the same numbers whatever they get must read the same on both,
but for what feedback may tell (docs/security.md); and no message may hold a number or a text that is right.
"""

import re

import pytest
from conftest import ROOT
from distorted import CONSTANT, VARYING, Distorted

from autograder import course

EXERCISES = sorted(course.exercises(ROOT))
SEEDS = (1, 2)
OWN_WORDS = re.compile(r"(Your code raised|It stopped with|it says) .*")
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")


def reasons(graders, exercise, answer, seed):
    """Why each check failed, by its name; without what the answer itself has said."""
    run = graders.run(exercise, answer, seed)
    assert not run.unjudged, run.unjudged
    return {check.name: OWN_WORDS.sub(r"\1", check.reason) for check in run.failed()}


def is_one_of(text, numbers):
    """Whether a number in a message is one of these, as far as its digits go."""
    digits = max(1, len(text.strip("-").split("e")[0].replace(".", "").lstrip("0")))
    return any(f"{float(text):.{digits}g}" == f"{number:.{digits}g}" for number in numbers)


def fractions(reason, answer):
    """The numbers with fractions in a message, but for those that the answer was given or gave."""
    there = [text for text in NUMBER.findall(reason) if "." in text]
    return [text for text in there if not is_one_of(text, answer.given | answer.gave)]


@pytest.mark.drawn(6, "exercises whose messages are searched", by="exercise")
@pytest.mark.parametrize("exercise", EXERCISES)
def test_a_message_does_not_depend_on_what_was_drawn(graders, exercise):
    for way in CONSTANT:
        answers = [Distorted(exercise, way) for _ in SEEDS]
        both = [reasons(graders, exercise, answer, seed) for answer, seed in zip(answers, SEEDS, strict=True)]
        for check in both[0].keys() & both[1].keys():
            said = [each[check] for each in both]
            numbers = [fractions(reason, answer) for reason, answer in zip(said, answers, strict=True)]
            assert numbers[0] == numbers[1], f"{check}, {way}: {said}"
            words = [NUMBER.sub("#", QUOTED.sub("'", reason)) for reason in said]
            assert words[0] == words[1], f"{check}, {way}: {said}"


@pytest.mark.drawn(6, "exercises whose messages are searched", by="exercise")
@pytest.mark.parametrize("exercise", EXERCISES)
def test_a_message_holds_nothing_that_is_right(graders, exercise):
    for way in (*CONSTANT, *VARYING):
        answer = Distorted(exercise, way)
        for check, reason in reasons(graders, exercise, answer, SEEDS[0]).items():
            told = [text for text in fractions(reason, answer) if len(text) > 4 and is_one_of(text, answer.right)]
            told += [text for text in answer.texts if len(text) > 3 and text in reason]
            assert not told, f"{check}, {way}: {reason}"


def test_what_is_told_is_found(graders, monkeypatch):
    """This test would not pass the messages that there were."""
    from autograder.checks.api import CheckFailed
    from autograder.exercises.constant_vector_length import checks

    def right_for(submission, cases):
        for c, k in cases:
            value = submission.function("constant_vector_length")(c, k)
            right = checks.plain.constant_vector_length(c, k)
            if abs(value - right) > 1e-6:
                raise CheckFailed(f"For c = {c:.4g} and k = {k} the length is {right:.6g}, not {value:.6g}.")

    monkeypatch.setattr(checks, "right_for", right_for)
    for test in (test_a_message_does_not_depend_on_what_was_drawn, test_a_message_holds_nothing_that_is_right):
        with pytest.raises(AssertionError):
            test(graders, "constant_vector_length")
