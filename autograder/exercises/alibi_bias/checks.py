"""Checks of `alibi_bias(num_heads, t)`: (num_heads, t, t), −slope · (i − j) for key j ≤ query i, anything above.

What a slip in the slopes costs, it costs in the checks of slopes: the others take any slope, different for each head.
Their digits are the affair of the check of the dtype.
"""

from typing import Any

import torch

from ...checks.api import CheckFailed, Draw, check, close, name_of, shape, tensor
from ...checks.gates import easy_case
from ...checks.proxies import Submission
from ..reference import cached

NO_DEVICE = "It gets two numbers, so nothing says on which device its bias should lie."

ABOUT, NEAR = 2e-2, 1e-4  # relative: slopes may be made in float32, but not in less


def back(t: int) -> torch.Tensor:
    """(t, t): how far back the key stands; 0 above the diagonal, where the bias may be anything."""
    return (torch.arange(t)[:, None] - torch.arange(t)[None, :]).clamp(min=0).double()


def where_it_counts(got: Any, num_heads: int, t: int) -> torch.Tensor:
    """The bias in float64, with 0 above the diagonal. Raises CheckFailed unless it is a tensor of the right shape."""
    shape(got, (num_heads, t, t), f"the bias of {num_heads} heads and {t} tokens")
    return torch.where(torch.ones(t, t).tril() == 1, got.double(), 0.0)


def right_slopes(got: Any, num_heads: int, t: int) -> None:
    """Raises CheckFailed unless each head's bias of the token before is −slope; names the first head that is wrong."""
    found, expected = -where_it_counts(got, num_heads, t)[:, 1, 0], torch.tensor(cached.slopes(num_heads)).double()
    wrong = ~((found - expected).abs() <= ABOUT * expected)
    if wrong.any():
        head = int(wrong.nonzero()[0])
        raise CheckFailed(
            f"With {num_heads} heads, the slope of head {head} (counted from 0) is wrong: the bias of the token before"
            f" is {-found[head]:.6g}."
        )


def enough_digits(got: Any, num_heads: int, t: int) -> None:
    """Raises CheckFailed if a slope that is about right has fewer digits than float32."""
    found, expected = -where_it_counts(got, num_heads, t)[:, 1, 0], torch.tensor(cached.slopes(num_heads)).double()
    off = (found - expected).abs() / expected
    rounded = (off > NEAR) & (off <= ABOUT)
    if rounded.any():
        head = int(rounded.nonzero()[0])
        raise CheckFailed(
            f"With {num_heads} heads, the slope of head {head} (counted from 0) is about right, but it lost digits on"
            " the way: compute it in float32 or wider."
        )


def right_distances(got: Any, num_heads: int, t: int) -> None:
    """Raises CheckFailed unless the bias falls from 0 by the same amount with each place back, whatever the slopes."""
    got = where_it_counts(got, num_heads, t)
    step = got[:, 1, 0] if t > 1 else torch.zeros(num_heads)
    if t > 1 and not (step < 0).all():
        raise CheckFailed("The bias of the token before should be below 0, in each head.")
    for head in range(num_heads):
        close(
            got[head],
            step[head].double() * back(t),
            f"the bias of head {head} of {num_heads} on and below the diagonal",
        )


@check("values", points=1)
def test_powers_of_two(submission: Submission, draw: Draw) -> None:
    """For 1, 2, 4, 8 and 16 heads, the first slope is 2^(−8/n), and each is that times the one before."""
    alibi_bias, t = submission.function("alibi_bias"), draw.integer(4, 7)
    numbers = (8, 4, 16, 2, 1)
    for number, got in [(number, alibi_bias(number, t)) for number in numbers]:
        right_slopes(got, number, t)


@check("values", points=1)
def test_other_numbers(submission: Submission, draw: Draw) -> None:
    """For other numbers of heads, the lower power's slopes come first, then every second one of the higher power's."""
    alibi_bias, t = submission.function("alibi_bias"), draw.integer(4, 7)
    numbers = (6, 12, 3, 5, 7, draw.integer(17, 31))
    for number, got in [(number, alibi_bias(number, t)) for number in numbers]:
        right_slopes(got, number, t)


def steps_to_the_last(got: Any) -> torch.Tensor:
    """What the last query's bias changes by from each key to the next, in each head: (num_heads, t - 1)."""
    return got[:, -1, 1:] - got[:, -1, :-1]


def is_steady(steps: torch.Tensor) -> bool:
    """Whether the bias goes one way, with each key: the sign has checks of its own."""
    return bool((steps > 0).all() or (steps < 0).all())


@easy_case
def falls_with_distance(submission: Submission, draw: Draw) -> None:
    """Raises CheckFailed unless the last query's bias goes one way from key to key, by the head's own amounts."""
    steps = steps_to_the_last(where_it_counts(submission.function("alibi_bias")(8, 5), 8, 5))
    if not is_steady(steps):
        raise CheckFailed("The bias of the last query does not fall with the distance of the key.")
    if len(steps[:, 0].unique()) < 8:
        raise CheckFailed("There are heads with the same slope.")


@check("values", points=1)
def test_distance(submission: Submission, draw: Draw) -> None:
    """In each head the bias is 0 for the token itself, and falls by the same amount with each place back."""
    t = draw.integer(6, 9)
    right_distances(submission.function("alibi_bias")(4, t), 4, t)


@check("shape", points=0.5)
def test_any_size(submission: Submission, draw: Draw) -> None:
    """The shape is (num_heads, t, t), for one token as for many, and each call goes by its own sizes."""
    falls_with_distance(submission, draw)
    alibi_bias = submission.function("alibi_bias")
    sizes = (8, 2), (8, 1), (1, 1), (2, draw.integer(65, 130)), (8, 3), (4, 33), (32, 9)
    for (number, t), got in [(size, alibi_bias(*size)) for size in sizes]:
        got = where_it_counts(got, number, t)
        if not (got.isfinite().all() and is_steady(steps_to_the_last(got))):
            raise CheckFailed(f"The bias of {number} heads and {t} tokens does not fall with each place back.")


@check("numerics", points=0.5)
def test_dtype(submission: Submission, draw: Draw) -> None:
    """The bias holds floating numbers, as exact as float32: those of bfloat16 can't tell far places apart."""
    falls_with_distance(submission, draw)
    t = draw.integer(300, 340)
    got = tensor(submission.function("alibi_bias")(1, t), "the bias")
    if got.dtype not in (torch.float32, torch.float64):
        raise CheckFailed(f"The dtype of the bias should be float32 or float64, but it is {name_of(got.dtype)}.")
    steps = steps_to_the_last(where_it_counts(got, 1, t))
    close(steps, steps.mean().expand(1, t - 1), "what the bias falls by with each place back", tolerance=1e-3)
    enough_digits(submission.function("alibi_bias")(12, 3), 12, 3)
