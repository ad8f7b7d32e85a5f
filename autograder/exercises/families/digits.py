"""How exact float64 is, observed without the digits themselves, which no two ways of writing the same mistake share.

An epsilon of any size in a softmax's denominator gives one observation, and anything computed in float32 another.
"""

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import torch

from ...checks.api import CheckFailed, Submission, close, name_of
from ...checks.numeric import largest

EXACT = 2e-11  # relative; an epsilon of 1e-10 is above it, and float64's own rounding far below
NEARLY = 1e-5  # relative; what float32 is off by at most
MILD = 1e-2  # an epsilon is smaller
CALM = 0.25  # by which random queries are made smaller where half precision is tried: random weights make some scores
# so large that a right answer is off by more than half precision is allowed to be


def sums_to_one(submission: Submission, sums: torch.Tensor, what: str) -> None:
    """Raises CheckFailed unless these sums of weights are 1 up to rounding in their own dtype.

    The scores should be so far apart that the largest power is the whole sum: then an epsilon shows in full.
    """
    short = 1 - sums.double().min().item()
    is_short = EXACT < short < MILD
    submission.note("sums are", "a little below 1" if is_short else "1" if abs(short) < MILD else "wrong")
    if is_short:
        raise CheckFailed(f"The sum of {what} is smaller than 1 by {short:.1g}: something is added to the divisor.")


def all_of_float64(
    submission: Submission, got: Sequence[torch.Tensor], right: Sequence[torch.Tensor], what: str = "the output"
) -> None:
    """Raises CheckFailed unless each of `got`, from `Way.sample`, is right in float64, with all digits."""
    for output, expected in zip(got, right, strict=True):
        submission.note(name_of(output.dtype), _exactness(output, expected))
    for output, expected in zip(got, right, strict=True):
        close(output, expected, what, dtype=torch.float64)


def of_float64(submission: Submission, got: Any, compare: Callable[..., None]) -> None:
    """Raises CheckFailed unless an output, from `Proxy.sample`, is right in float64, with all digits.

    `compare` raises CheckFailed if it is not right within the relative `tolerance` that it is called with.
    """
    kind = getattr(got, "dtype", None)
    submission.note(name_of(kind) if kind else "no tensor", _closeness(got, compare))
    compare(got, dtype=torch.float64, tolerance=EXACT)


def _closeness(got: Any, compare: Callable[..., None]) -> str:
    """In words how exact an output is, for all that `compare` says."""
    for tolerance, found in ((EXACT, "exact"), (NEARLY, "nearly")):
        with contextlib.suppress(CheckFailed):
            compare(got, dtype=torch.float64, tolerance=tolerance)
            return found
    return "wrong"


def _exactness(output: torch.Tensor, expected: torch.Tensor) -> str:
    """In words how exact an output is; of a wrong one, whether float32 could hold all its digits."""
    error, size = largest(output.double() - expected), largest(expected)
    if error <= NEARLY * size:
        return "exact" if error <= EXACT * size else "nearly"
    return "wrong, in float32" if torch.equal(output.double(), output.float().double()) else "wrong"
