"""Checks of `normalise(x)`: (n,) -> (n,)."""

import torch

from autograder.checks import check, close, refuses


def right(x):
    x = x.double()
    deviations = x - x.mean()
    return deviations / deviations.square().mean().sqrt()


@check("values", points=1.5)
def test_values(submission, draw):
    """The mean is 0 and the standard deviation 1."""
    x = draw.normal(7, scale=3.0) + 5
    close(submission.function("normalise")(x), right(x))


@check("arguments", points=0.5)
def test_wrong_rank(submission, draw):
    """What is no vector is refused with a `ValueError`."""
    normalise, x = submission.function("normalise"), draw.normal(5)
    normalise(x)
    refuses(normalise.error(torch.zeros(2, 3)), "a matrix")
