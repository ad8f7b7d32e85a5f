"""Checks of `rescale(x)`: (n,) -> (n,)."""

import torch

from autograder.checks import check, close


def right(x):
    x = x.double()
    spread = x.max() - x.min()
    return (x - x.min()) / (spread if spread > 0 else 1)


@check("values", points=2)
def test_values(submission, draw):
    """The smallest number becomes 0 and the largest 1, and the others keep their places between them."""
    rescale = submission.function("rescale")
    for shift in (-5, 0, 5):
        x = draw.normal(6) + shift
        close(rescale(x), right(x))


@check("numerics", points=1)
def test_numbers_that_are_all_the_same(submission, draw):
    """Numbers that are all the same become 0."""
    rescale, x = submission.function("rescale"), draw.normal(4)
    close(rescale(x), right(x))  # who answers 0 to everything has not seen that they are the same
    close(rescale(torch.full((3,), 2.0)), torch.zeros(3))
