"""Checks of `constant_vector_length(c, k)`: the length of a vector of k entries c. Plain numbers in, one out."""

from collections.abc import Sequence
from typing import Any

import torch

from ...checks.api import CheckFailed, Draw, check, kind_of, number
from ...checks.proxies import Submission
from ..reference import plain

NO_DEVICE = "It takes and gives plain numbers."  # why no check is made on a GPU
NO_TENSORS = "It gives a plain number."  # why it is not tried with tensors of random values
TOLERANCE = 1e-5  # relative: float32 is exact enough, and a length cut to four decimals is not


def right_for(submission: Submission, cases: Sequence[tuple[float, int]]) -> None:
    """Raises CheckFailed unless the length is right for every pair (c, k)."""
    length = submission.function("constant_vector_length")
    got = [number(length.sample(c, k)) for c, k in cases]  # a measured length may be a tensor with one entry
    for value in got:  # noted, since the last digits hang on the order of operations
        submission.note(torch.tensor(value, dtype=torch.float64) if is_real(value) else kind_of(value))
    for value, (c, k) in zip(got, cases, strict=True):
        if not is_real(value):
            raise CheckFailed(f"For c = {c:.4g} and k = {k} it should return a number; what came is {kind_of(value)}.")
        expected = plain.constant_vector_length(c, k)
        if not abs(value - expected) <= TOLERANCE * expected + 1e-9:
            raise CheckFailed(f"For c = {c:.4g} and k = {k} the length is not {value:.6g}.")


def is_real(value: Any) -> bool:
    return type(value) in (int, float)


def positive(draw: Draw) -> tuple[float, int]:
    return 0.5 + draw.normal(1).abs().item(), draw.integer(5, 900)


@check("values", points=0.5)
def test_length(submission: Submission, draw: Draw) -> None:
    """The length of a vector of k entries that are all c is right for numbers c above 0."""
    right_for(
        submission, [positive(draw), positive(draw), (3.0, 4), (2, 9), (0.25, 16), (2.5, 1), (1 / 3, 7), (0.01, 2000)]
    )


@check("values", points=0.5)
def test_negative(submission: Submission, draw: Draw) -> None:
    """A length is never negative: it is right for numbers c below 0 too, and 0 when c is 0."""
    (c, k), (other, many) = positive(draw), positive(draw)
    # one number is above 0, so that what makes all lengths 0 is not told that it does so to those of negative numbers
    right_for(submission, [(-c, k), (-other, many), (-2, 9), (-0.5, 1), (0.0, 7), (0, 1), (c, k)])
