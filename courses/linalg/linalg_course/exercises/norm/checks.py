"""Checks of `norm(x)`: (n,) -> a number."""

import math

import numpy as np

from autograder.checks import check, close, easy_case

HUGE, TINY = 1e200, 1e-200  # whose squares are inf and 0


def right(x):
    return math.hypot(*x)


def unscaled(value, factor):
    """A number, divided by a factor; anything else as it is, for `close` to refuse."""
    return value / factor if isinstance(value, (int, float, np.number)) else value


@easy_case
def of_ordinary_numbers(submission, draw):
    x = draw.array(4)
    close(submission.function("norm")(x), right(x), "the length")


@check("values", points=1)
def test_values(submission, draw):
    """The length of a vector with any number of entries, of any signs, is right."""
    norm = submission.function("norm")
    for x in (draw.array(5), -np.abs(draw.array(3)), draw.array(1), draw.array(40, scale=30.0)):
        close(norm(x), right(x), "the length")


@check("numerics", points=1)
def test_huge(submission, draw):
    """Entries near 1e200 have a length, though their squares have none."""
    of_ordinary_numbers(submission, draw)
    for x in (draw.array(4), -np.abs(draw.array(4))):
        close(unscaled(submission.function("norm")(HUGE * x), HUGE), right(x), "the length of large numbers")


@check("numerics", points=0.5)
def test_tiny(submission, draw):
    """Entries near 1e-200 have a length above 0."""
    of_ordinary_numbers(submission, draw)
    x = draw.array(4)
    close(unscaled(submission.function("norm")(TINY * x), TINY), right(x), "the length of small numbers")


@check("numerics", points=0.5)
def test_zero(submission, draw):
    """The length of a vector of zeros is 0."""
    of_ordinary_numbers(submission, draw)
    close(submission.function("norm")(np.zeros(3)), 0.0, "the length of zeros")
