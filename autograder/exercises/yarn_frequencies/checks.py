"""Checks of `yarn_frequencies(head_dim, base, factor, original_length, slow=1, fast=32)` -> (head_dim/2,).

Each check looks at the pairs that it is about, and compares each frequency with its own right value: they lie
orders apart. All start with `stretches`, an easy case in which the slowest pair only has to change at all.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from ...checks.api import CheckFailed, Draw, check, close, kind_of, name_of, refuses, shape, tensor
from ...checks.gates import easy_case
from ...checks.proxies import Submission
from ..families.refusals import ended
from ..reference import bands

NO_DEVICE = "It takes plain numbers."  # why no check is made on a GPU
NO_TENSORS = "It gives a tensor of one dimension."  # why it is not tried with tensors of random values
NAME = "yarn_frequencies"
FINE = 1e-5  # what float32 leaves of a power, relative to each frequency


def found(submission: Submission, case: Sequence[Any]) -> torch.Tensor:
    """What comes for the arguments `case`: a tensor of head_dim/2 numbers, all above 0.

    The transcript gets them relative to RoPE's own frequencies: as they are, only the fastest pairs would tell one
    mistake from another, and float32 and float64 are both right.
    """
    got = submission.function(NAME).sample(*case)
    submission.note(tuple(got.shape) if isinstance(got, torch.Tensor) else kind_of(got))
    shape(tensor(got, "what comes back"), (case[0] // 2,), "what comes back")
    submission.note((got.double() / bands.plain(*case[:2])).float())
    if not (got > 0).all():
        raise CheckFailed("All frequencies should be above 0.")
    return got


@easy_case
def stretches(submission: Submission, draw: Draw) -> None:
    """Raises CheckFailed unless positive frequencies come, of which the slowest depends on the factor."""
    one, four = (found(submission, (16, 10000.0, factor, 1024)) for factor in (1, 4))
    if abs(float(four[-1] / one[-1]) - 1) < 0.01:
        raise CheckFailed("The slowest pair turns as before, whatever `factor` is.")


def right_for(
    submission: Submission,
    cases: Sequence[Sequence[Any]],
    what: str,
    which: Callable[..., torch.Tensor] = lambda turned, slow, fast: turned > 0,
    tolerance: float | None = None,
) -> None:
    """Raises CheckFailed unless the frequencies are right for the pairs that `which` picks by their turns."""
    got = [found(submission, case) for case in cases]
    for case, value in zip(cases, got, strict=True):
        head_dim, base, _, length, *edges = case
        these = which(bands.turns(head_dim, base, length), *(edges or (1, 32)))
        ratios = value.double()[these] / bands.yarn_frequencies(*case)[these]
        close(ratios, torch.ones_like(ratios), f"the frequencies of {what}", tolerance)


def trained(draw: Draw) -> tuple[int, float, float, int]:
    """(head_dim, base, factor, original_length) of a model that has pairs in all three bands, several in each."""
    head_dim, base = (64, 96, 128)[draw.integer(0, 2)], (1e4, 5e4, 2e5)[draw.integer(0, 2)]
    return head_dim, base, float(draw.integer(3, 12)), draw.integer(1500, 6000)


def cases(draw: Draw) -> list[tuple[float, ...]]:
    """Arguments of several models; the last one has other edges."""
    return [trained(draw), trained(draw), (*trained(draw), 2.0, 20.0 + draw.integer(0, 20))]


@check("values", points=0.75)
def test_fast_pairs(submission: Submission, draw: Draw) -> None:
    """Pairs that turn round `fast` times or more in the texts of the training are left as they are."""
    stretches(submission, draw)
    right_for(submission, cases(draw), "fast pairs", lambda turned, slow, fast: turned >= 1.02 * fast)


@check("values", points=0.75)
def test_slow_pairs(submission: Submission, draw: Draw) -> None:
    """Pairs that turn round `slow` times or less turn `factor` times slower."""
    stretches(submission, draw)
    right_for(submission, cases(draw), "slow pairs", lambda turned, slow, fast: turned <= 0.98 * slow)


@check("values", points=0.75)
def test_between(submission: Submission, draw: Draw) -> None:
    """Between both, the share that is left as it is grows linearly in the turns."""
    stretches(submission, draw)
    right_for(submission, cases(draw), "pairs between", lambda turned, slow, fast: (turned > slow) & (turned < fast))


@check("values", points=0.25)
def test_the_bands_meet(submission: Submission, draw: Draw) -> None:
    """The bands meet at both ends: nothing jumps where one begins."""
    stretches(submission, draw)
    factor = float(draw.integer(3, 12))
    turned = bands.turns(32, 1e4, 2000)
    exactly = (32, 1e4, factor, 2000, float(turned[11]), float(turned[4]))
    right_for(submission, [(64, 1.25, factor, 7), (64, 1.08, factor, 208), exactly], "pairs at the ends of a band")


@check("values", points=0.125)
def test_factor_1(submission: Submission, draw: Draw) -> None:
    """A factor of 1 changes nothing: these are RoPE's own frequencies."""
    stretches(submission, draw)
    right_for(
        submission, [(*trained(draw)[:2], 1, trained(draw)[3]), (2, 1e4, 1.0, 100)], "all pairs, with a factor of 1,"
    )


@check("numerics", points=0.125)
def test_digits(submission: Submission, draw: Draw) -> None:
    """What comes back is float32 or float64, with the digits of float32."""
    stretches(submission, draw)
    case = trained(draw)
    got = found(submission, case)
    submission.note(got.dtype in (torch.float16, torch.bfloat16))
    if got.dtype not in (torch.float32, torch.float64):
        raise CheckFailed(f"The dtype should be float32 or float64, but it is {name_of(got.dtype)}.")
    right_for(submission, [case], "fast pairs", lambda turned, slow, fast: turned >= 1.02 * fast, FINE)


@check("arguments", points=0.25)
def test_odd_width(submission: Submission, draw: Draw) -> None:
    """An odd `head_dim` is refused with a `ValueError`."""
    stretches(submission, draw)
    odd = 2 * draw.integer(2, 20) + 1
    refuses(ended(submission, submission.function(NAME), odd, *trained(draw)[1:]), f"a head_dim of {odd}")
