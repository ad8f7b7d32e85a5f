"""Checks of `accept(target, draft, token, chance)` -> `(kept, remainder)`: two distributions (v,), a token, a number.

All checks start with `chooses`, an easy case: a token that the large model likes better is kept, one that it never says
is not. A remainder is looked at where target and draft differ.
"""

from typing import Any

import torch

from ...checks.api import (
    CheckFailed,
    Draw,
    check,
    close,
    kind_of,
    number,
    on_cuda,
    pair,
    shape,
    stayed_on_cuda,
    tensor,
    unchanged,
)
from ...checks.gates import easy_case
from ...checks.proxies import Submission
from ..reference import drafts

NO_TENSORS = "It gives a tensor of one dimension."  # why it is not tried with tensors of random values
NAME = "accept"
PARTS = 8  # of [0, 1), whose middles stand for all chances: kept or not changes between two of them


def said(value: Any) -> bool:
    """Whether the token is kept. Raises CheckFailed for what is no truth value."""
    kept, _ = pair(value, "`(kept, remainder)`")
    truth = number(kept)
    if not isinstance(truth, bool):
        raise CheckFailed(f"`kept` should be True or False, but it is {kind_of(kept)}.")
    return truth


def left(value: Any, v: int) -> torch.Tensor:
    """The remainder, (v,)."""
    _, remainder = pair(value, "`(kept, remainder)`")
    remainder = tensor(remainder, "the remainder")
    shape(remainder, (v,), "the remainder")
    return remainder


@easy_case
def chooses(submission: Submission, draw: Draw) -> None:
    """Raises CheckFailed unless a token that the target likes better is kept, and one that it never says is not."""
    target, draft = torch.tensor([0.5, 0.25, 0.25, 0.0]), torch.tensor([0.125, 0.125, 0.25, 0.5])
    accept = submission.function(NAME)
    better, never = accept(target, draft, 0, 0.5), accept(target, draft, 3, 0.5)
    if not said(better):
        raise CheckFailed("A token to which the target gives four times as much as the draft should be kept.")
    if said(never):
        raise CheckFailed("A token to which the target gives nothing should be refused.")
    left(never, 4)


def distributions(draw: Draw, v: int = 6, dtype: torch.dtype = torch.float32) -> tuple[torch.Tensor, torch.Tensor]:
    """Target and draft, (v,) each: some tokens have clearly more in one, some in the other."""
    while True:
        target, draft = (draw.normal(v, dtype=torch.float64, scale=1.5).softmax(0).to(dtype) for _ in range(2))
        ratios = target.double() / draft.double()
        if ((ratios > 0.1) & (ratios < 0.8)).any() and (ratios > 1.3).any() and draft.min() > 0.01:
            return target, draft


@check("values", points=0.75)
def test_kept(submission: Submission, draw: Draw) -> None:
    """The draft's token is kept where the chance is below target/draft of this token."""
    chooses(submission, draw)
    accept, got = submission.function(NAME), []
    for target, draft in (distributions(draw), distributions(draw, 4)):
        for token in range(len(target)):
            ratio = drafts.ratio(target, draft, token)
            for chance in (0.9 * ratio, 1.1 * ratio) if ratio < 0.9 else (0.95,):
                got.append((chance < ratio, accept(target, draft, token, chance)))
    for expected, value in got:
        if said(value) != expected:
            raise CheckFailed(
                "A token is refused, though its chance is below target/draft."
                if expected
                else "A token is kept, though its chance is above target/draft."
            )


@check("values", points=0.75)
def test_remainder(submission: Submission, draw: Draw) -> None:
    """Where the token is refused, the remainder is what the target has above the draft, brought to the sum 1."""
    chooses(submission, draw)
    got, given = [], [distributions(draw, v) for v in (3, 6, 11)]
    for target, draft in given:
        token = int((target / draft).argmin())
        got.append(submission.function(NAME)(target, draft, token, 0.97))
    for (target, draft), value in zip(given, got, strict=True):
        if said(value):
            raise CheckFailed("A token is kept, though its chance is above target/draft.")
        close(left(value, len(target)), drafts.remainder(target, draft), "the remainder")


@check("values", points=0.25)
def test_remainder_of_the_kept(submission: Submission, draw: Draw) -> None:
    """The remainder comes in both cases, and does not depend on token and chance."""
    chooses(submission, draw)
    target, draft = distributions(draw)
    token = int((target / draft).argmax())
    got = [submission.function(NAME)(target, draft, token, chance) for chance in (0.1, 0.9)]
    for value in got:
        close(left(value, len(target)), drafts.remainder(target, draft), "the remainder beside a kept token")


@check("values", points=0.5)
def test_the_distribution_is_the_large_models(submission: Submission, draw: Draw) -> None:
    """Over all tokens and chances, what comes out has the target's distribution, exactly (by enumeration)."""
    chooses(submission, draw)
    draft = torch.tensor([0.5, 0.25, 0.125, 0.125])
    # ratios below 1 are eighths, so a middle stands for all chances of its part
    few, some, rest = draw.integer(2, 3) / 16, draw.integer(3, 5) / 32, draw.integer(3, 5) / 8
    target = torch.tensor([few, some, rest * (1 - few - some), (1 - rest) * (1 - few - some)])
    turned = draw.integer(0, 3)
    target, draft = target.roll(turned), draft.roll(turned)
    accept, comes = submission.function(NAME), torch.zeros(4, dtype=torch.float64)
    got = [(token, accept(target, draft, token, (part + 0.5) / PARTS)) for token in range(4) for part in range(PARTS)]
    for token, value in got:
        new = torch.eye(4, dtype=torch.float64)[token] if said(value) else left(value, 4).double()
        comes += float(draft[token]) / PARTS * new
    close(comes, target.double(), "the distribution of what comes out")


@check("values", points=0.25)
def test_equal(submission: Submission, draw: Draw) -> None:
    """A chance equal to target/draft refuses: what the target never says is not kept by a chance of 0, either."""
    chooses(submission, draw)
    target, draft = torch.tensor([0.125, 0.0, 0.875]), torch.tensor([0.25, 0.5, 0.25])
    accept = submission.function(NAME)
    below, equal, never = accept(target, draft, 0, 0.49), accept(target, draft, 0, 0.5), accept(target, draft, 1, 0.0)
    if not said(below):
        raise CheckFailed("A token is refused, though its chance is below target/draft.")
    if said(equal):
        raise CheckFailed("A token is kept whose chance is equal to target/draft.")
    if said(never):
        raise CheckFailed("A token that the target never says is kept by a chance of 0.")


@check("numerics", points=0.25)
def test_dtypes(submission: Submission, draw: Draw) -> None:
    """float64, float32, float16 and bfloat16 in, the same out for the remainder."""
    chooses(submission, draw)
    cases = []
    for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
        target, draft = distributions(draw, 5, dtype)
        token = int((target.double() / draft.double()).argmin())
        cases.append((dtype, target, draft, submission.function(NAME)(target, draft, token, 0.97)))
    for dtype, target, draft, value in cases:
        close(left(value, 5), drafts.remainder(target, draft), "the remainder", dtype=dtype)


@check("shape", points=0.125)
def test_small_and_odd_inputs(submission: Submission, draw: Draw) -> None:
    """Two tokens, a token in a tensor, and distributions that are not contiguous in memory work like any others."""
    chooses(submission, draw)
    accept = submission.function(NAME)
    two = torch.tensor([0.75, 0.25]), torch.tensor([0.25, 0.75])
    target, draft = distributions(draw)
    token = int((target / draft).argmin())
    apart = [torch.stack([x, x.flip(0)], dim=1)[:, 0] for x in (target, draft)]
    cases = {
        "two tokens": (two, accept(*two, 1, 0.5)),
        "a token in a tensor": ((target, draft), accept(target, draft, torch.tensor(token), 0.97)),
        "distributions that are not contiguous": ((target, draft), accept(*apart, token, 0.97)),
    }
    for what, ((p, q), value) in cases.items():
        if said(value):
            raise CheckFailed(f"A token is kept, though its chance is above target/draft, for {what}.")
        close(left(value, len(p)), drafts.remainder(p, q), f"the remainder for {what}")


@check("mode", points=0.125, witnessed=True)
def test_again(submission: Submission, draw: Draw) -> None:
    """Target and draft stay as they were."""
    chooses(submission, draw)
    target, draft = distributions(draw)
    for token in (int((target / draft).argmin()), int((target / draft).argmax())):
        value = submission.function(NAME)(target, draft, token, 0.97)
        unchanged(submission)
        close(left(value, 6), drafts.remainder(target, draft), "the remainder")


@check("device", points=0)
def test_cuda(submission: Submission, draw: Draw) -> None:
    """On a GPU it is the same, and the remainder stays there."""
    on_cuda(submission)
    target, draft = distributions(draw)
    token = int((target / draft).argmin())
    got = submission.function(NAME).on("cuda", target, draft, token, 0.97)
    stayed_on_cuda(submission, "What is returned is")
    if said(got):
        raise CheckFailed("A token is kept, though its chance is above target/draft.")
    close(left(got, 6), drafts.remainder(target, draft), "the remainder")
