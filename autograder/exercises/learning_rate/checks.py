"""Checks of `learning_rate(step, steps, peak, warm_up)`: plain numbers in, one float out."""

import re
from collections.abc import Sequence

import numpy as np
import torch

from ...checks.api import CheckFailed, Draw, check, kind_of, number, refuses
from ...checks.proxies import StudentError, Submission
from ..families.refusals import refusals
from ..reference import language

NO_DEVICE = "It takes and gives plain numbers."  # why no check is made on a GPU
NO_TENSORS = "It gives a plain number."  # why it is not tried with tensors of random values
TOLERANCE = 1e-6  # of the peak


def right_for(submission: Submission, cases: Sequence[tuple[int, int, float, int]]) -> None:
    """Raises CheckFailed unless the learning rate is right for every (step, steps, peak, warm_up)."""
    function = submission.function("learning_rate")
    for case, value in [(case, function(*case)) for case in cases]:
        step, steps, peak, warm_up = case
        value = number(value)
        if type(value) not in (int, float):
            raise CheckFailed(f"It should return a number; what came is {kind_of(value)}.")
        expected = language.learning_rate(*case)
        if not abs(value - expected) <= TOLERANCE * peak:
            raise CheckFailed(
                f"At step {step} of {steps}, with the peak {peak:.4g} and a warm-up of {warm_up}, the learning rate"
                f" is not {value:.8g}."
            )


def numbers_in(error: StudentError) -> set[str]:
    """The whole numbers in the message of an error, as texts."""
    return set(re.findall(r"\d+", error.message))


def run(draw: Draw) -> tuple[int, float, int]:
    """(steps, peak, warm_up) of a training."""
    return draw.integer(40, 90), 10.0 ** -draw.integer(1, 4) * draw.integer(2, 9), draw.integer(5, 20)


@check("values", points=0.5)
def test_warm_up(submission: Submission, draw: Draw) -> None:
    """The first steps climb to the peak in equal parts, from the very first step on."""
    steps, peak, warm_up = run(draw)
    right_for(submission, [(step, steps, peak, warm_up) for step in (0, 1, warm_up // 2, warm_up - 1)])


@check("values", points=0.5)
def test_cosine(submission: Submission, draw: Draw) -> None:
    """After the warm-up it falls from the peak along half a cosine, which would reach 0 at step `steps`."""
    steps, peak, warm_up = run(draw)
    places = (warm_up, warm_up + 1, (steps + warm_up) // 2, steps - 2, steps - 1)
    right_for(submission, [(step, steps, peak, warm_up) for step in places])


@check("values", points=0.5)
def test_nothing_but_one_part(submission: Submission, draw: Draw) -> None:
    """A warm-up of 0 steps leaves the cosine alone, and one of all steps the line alone."""
    steps, peak, _ = run(draw)
    right_for(submission, [(step, steps, peak, 0) for step in (0, 1, steps // 3, steps - 1)])
    right_for(submission, [(step, steps, peak, steps) for step in (0, steps // 3, steps - 1)])


@check("arguments", points=0.5)
def test_too_long(submission: Submission, draw: Draw) -> None:
    """It gives plain numbers, and refuses a warm-up of more steps than there are with a `ValueError` that holds both
    numbers."""
    steps, peak, _ = run(draw)
    function = submission.function("learning_rate")
    for step in (0, steps - 2):  # before the end of the warm-up, and after it
        value = function(step, steps, peak, 5)
        if isinstance(value, (torch.Tensor, np.ndarray)):
            raise CheckFailed(f"It should return a float; at step {step} what came is {kind_of(value)}.")
    if type(number(function(0, steps, peak, steps))) not in (int, float):  # which is no warm-up that is too long
        raise CheckFailed("A warm-up of all steps should give a number.")
    wrong = {
        f"a warm-up longer than all steps, at step {step}": (step, steps, peak, steps + 3) for step in (0, steps - 1)
    }
    for what, error in refusals(submission, function, wrong).items():
        has_both = error is not None and error.is_value_error and {str(steps), str(steps + 3)} <= numbers_in(error)
        submission.note("both numbers" if has_both else "not both numbers")
        refuses(error, what, steps, steps + 3)
