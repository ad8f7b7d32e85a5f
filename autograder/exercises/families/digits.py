"""How exact float64 is, observed without the digits themselves, which no two ways of writing the same mistake share.

An epsilon of any size in a softmax's denominator gives one observation, and anything computed in float32 another.
"""

import torch

from ...checks.api import CheckFailed, Submission, close, name_of
from ...checks.proxies import largest

EXACT = 2e-11  # relative; an epsilon of 1e-10 is above it, and float64's own rounding far below
NEARLY = 1e-5  # what float32 is off by at most


def sums_to_one(submission: Submission, sums: torch.Tensor, what: str) -> None:
    """Raises CheckFailed unless these sums of weights are 1 up to rounding in their own dtype.

    The scores should be so far apart that the largest power is the whole sum: then an epsilon shows in full.
    """
    short = 1 - sums.double().min().item()
    is_short = EXACT < short < 1e-3
    submission.note("sums are", "a little below 1" if is_short else "1" if abs(short) < 1e-3 else "wrong")
    if is_short:
        raise CheckFailed(f"The sum of {what} is smaller than 1 by {short:.1g}: something is added to the divisor.")


def all_of_float64(submission: Submission, got: torch.Tensor, right: torch.Tensor, what: str = "the output") -> None:
    """Raises CheckFailed unless `got`, from `Way.sample`, is `right` in float64, with all digits."""
    error, size = largest(got.double() - right), largest(right)
    exact = "exact" if error <= EXACT * size else "nearly" if error <= NEARLY * size else "wrong"
    submission.note(name_of(got.dtype), exact)
    close(got, right, what, dtype=torch.float64)
