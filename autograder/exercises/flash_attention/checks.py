"""Checks of `flash_attention(query, key, value, block_size, causal=False)` -> `(output, lse)`.

(b, h, t, d), (b, h, s, d), (b, h, s, dv) give (b, h, t, dv) and (b, h, t). Blocks are asked for after a single one was
right, and gradients by the output alone. Both need blocks that take products of their own (`in_blocks`): one call of
torch's, or all scores at once, would give the same. Checks that are about neither start with `finds`, an easy case.
"""

from collections.abc import Sequence
from typing import Any

import torch

from ...checks import source_text, steps
from ...checks.api import (
    HUGE,
    HUGE_TOLERANCE,
    CheckFailed,
    Draw,
    check,
    close,
    does_without,
    gate,
    gradient,
    on_cuda,
    on_meta,
    pair,
    refuses,
    shape,
    stayed_on_cuda,
    tensor,
    unchanged,
)
from ...checks.gates import easy_case
from ...checks.proxies import Proxy, Submission
from ..families import easy_cases
from ..reference import heads, qkv
from ..tiled_attention.checks import DV, B, D, H, S, T, inputs, right

NAME = "flash_attention"
PARTS = ("query", "key", "value")


def right_lse(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, causal: bool = False) -> torch.Tensor:
    """log Σ exp of the scaled scores of each query: (b, h, t)."""
    scores = (query.double().unsqueeze(-2) * key.double().unsqueeze(-3)).sum(-1) / key.shape[-1] ** 0.5
    if causal:
        scores = scores.masked_fill(~heads.causal(query.shape[-2]), -torch.inf)
    largest = scores.amax(-1, keepdim=True)
    return ((scores - largest).exp().sum(-1, keepdim=True).log() + largest).squeeze(-1)


def output_of(value: Any) -> Any:
    """The output; of a pair the first part, where the lse is not the point."""
    return value[0] if isinstance(value, (tuple, list)) and value else value


def equal(
    got: Any,
    given: Sequence[torch.Tensor],
    causal: bool = False,
    what: str = "",
    **how: Any,
) -> None:
    close(output_of(got), right(*given, causal=causal), f"the output{what}", **how)


def finding(submission: Submission, draw: Draw) -> Proxy:
    """The function, after each query found its key in an easy case."""
    finds(submission, draw)
    return submission.function(NAME)


@easy_case
def finds(submission: Submission, draw: Draw) -> None:
    """Raises CheckFailed unless each of four queries gives most weight to the one key that it fits, in one block.

    No slip in the scale changes that.
    """
    query, key, _, partner = easy_cases.matches(draw)
    values = torch.cat([torch.eye(4), torch.ones(4, 1)], dim=1).expand(1, 1, 4, 5).clone()
    output = output_of(submission.function(NAME)(query[None, 1:], key[None, 1:], values, 4))
    shape(output, (1, 1, 4, 5))
    output = output[0, 0].detach().double()
    weights, total = output[:, :4], output[:, 4]
    most, others = (weights * partner).sum(-1), weights.masked_fill(partner.bool(), 0.0).amax(-1)
    if not ((most > 1.05 * others) & (weights.amin(-1) > -1e-6) & (0.2 < total) & (total < 1.1)).all():
        raise CheckFailed("Even in a single block a query does not give most weight to the one key that fits it.")


def one_block(submission: Submission, draw: Draw) -> Proxy:
    """The function, after it was right in one block, and works in several."""
    right_in_one_block(submission, draw)
    in_blocks(submission, draw)
    return submission.function(NAME)


@easy_case
def right_in_one_block(submission: Submission, draw: Draw) -> None:
    """Raises CheckFailed unless it is right in one block, without a fused call: in that, no blocks are put together."""
    given = inputs(draw)
    equal(submission.function(NAME)(*given, S), given, what=" in a single block")
    by_hand(submission)


@easy_case
def in_blocks(submission: Submission, draw: Draw) -> None:
    """Raises CheckFailed unless small blocks take more products than a single one, and no fused call (witnessed)."""
    finds(submission, draw)
    by_hand(submission)
    attention, given, made = submission.function(NAME), inputs(draw), []
    for size in (2, S):
        attention.counted(*given, size)
        made.append(submission.last.products)
    submission.note("in blocks", made[0] > made[1])
    if made[0] <= made[1]:
        raise CheckFailed(
            f"{T} queries and {S} keys take as many products in blocks of 2 as in a single one: it works in no blocks."
        )


@check("values", points=0.25)
def test_one_block(submission: Submission, draw: Draw) -> None:
    """In a single block it is attention: a softmax of the scores / √d, times the values."""
    attention = finding(submission, draw)
    cases = [(inputs(draw), S), (inputs(draw, s=1), T), ([draw.normal(4, 4, 4, 4) for _ in range(3)], 4)]
    got = [attention(*given, size) for given, size in cases]
    for one, (given, _) in zip(got, cases, strict=True):
        equal(one, given)


@check("values", points=0.5)
def test_blocks(submission: Submission, draw: Draw) -> None:
    """In blocks of queries and of keys, which need not divide them, the output is the same."""
    attention = one_block(submission, draw)
    cases = [(inputs(draw, t=6, s=6), size) for size in (3, 2)] + [(inputs(draw), size) for size in (1, 2, 3, 4, 100)]
    cases += [(inputs(draw, t=33, s=64, d=3, dv=2, b=1), 16), (inputs(draw, t=9, s=4), 4)]
    got = [attention(*given, size) for given, size in cases]
    for one, (given, size) in zip(got, cases, strict=True):
        t, s = given[0].shape[-2], given[1].shape[-2]
        equal(one, given, what=f" for {t} queries and {s} keys in blocks of {size}")


@check("values", points=0.5)
def test_lse(submission: Submission, draw: Draw) -> None:
    """With the output comes the logarithm of each query's sum of exponentials, (b, h, t)."""
    attention = finding(submission, draw)
    cases = [(inputs(draw), S, False), (inputs(draw), 3, False), (inputs(draw, t=6, s=6), 2, True)]
    got = [pair(attention(*given, size, causal), "`(output, lse)`")[1] for given, size, causal in cases]
    for one, (given, size, causal) in zip(got, cases, strict=True):
        close(one, right_lse(*given, causal=causal), f"the lse in blocks of {size}")


@check("masking", points=0.5)
def test_causal(submission: Submission, draw: Draw) -> None:
    """With `causal=True` query i sees the keys 0 to i and no others, wherever the blocks begin and end."""
    attention = one_block(submission, draw)
    given, longer = inputs(draw, t=6, s=6), inputs(draw, t=11, s=11)
    cases = [(given, size) for size in (6, 3, 2, 1, 4)] + [(longer, size) for size in (3, 5, 8, 20)]
    got = [attention(*each, size, causal=True) for each, size in cases]
    for one, (each, size) in zip(got, cases, strict=True):
        equal(one, each, causal=True, what=f" for {each[0].shape[-2]} tokens in blocks of {size}")


def right_gradients(
    submission: Submission,
    draw: Draw,
    size: int,
    causal: bool = False,
    names: Sequence[str] = PARTS,
    t: int = T,
    s: int = S,
) -> None:
    """Raises CheckFailed unless the gradients of random numbers times the output are those of the reference."""
    given, upstream = inputs(draw, t, s, grad=True), draw.normal(B, H, t, DV)
    got = submission.function(NAME).gradients(*given, size, causal, upstream=(upstream, None))
    expected = qkv.gradients(right(*given, causal=causal), upstream.double(), given)
    for name, one, wanted in zip(PARTS, got.inputs, expected, strict=True):
        if name in names:
            gradient(one, wanted, f"`{name}`", tolerance=1e-3)


@check("gradients", points=0.5)
def test_gradient_of_values(submission: Submission, draw: Draw) -> None:
    """The values get the right gradient, in one block and in several."""
    in_blocks(submission, draw)
    for size in (S, 3):
        right_gradients(submission, draw, size, names=("value",))


@check("gradients", points=0.5)
def test_gradient_of_queries(submission: Submission, draw: Draw) -> None:
    """The queries get the right gradient, in one block and in several."""
    in_blocks(submission, draw)
    for size in (S, 3):
        right_gradients(submission, draw, size, names=("query",))


@check("gradients", points=0.5)
def test_gradient_of_keys(submission: Submission, draw: Draw) -> None:
    """The keys get the right gradient, in one block and in several."""
    in_blocks(submission, draw)
    for size in (S, 3):
        right_gradients(submission, draw, size, names=("key",))


@check("gradients", points=0.5)
def test_causal_gradients(submission: Submission, draw: Draw) -> None:
    """With `causal=True` the gradients are right as well, and none of them is NaN."""
    in_blocks(submission, draw)
    with gate():
        right_gradients(submission, draw, S)
    for size in (7, 2, 3):
        right_gradients(submission, draw, size, True, t=S)


@check("gradients", points=0.5)
def test_no_gradient_through_the_lse(submission: Submission, draw: Draw) -> None:
    """No gradient goes through the lse: what is kept for it would be the exponentials of every tile."""
    in_blocks(submission, draw)
    with gate():
        right_gradients(submission, draw, S)
    given = inputs(draw, grad=True)
    got = submission.function(NAME).gradients(*given, 3, upstream=(None, draw.normal(B, H, T)))
    for name, one in zip(PARTS, got.inputs, strict=True):
        if one is not None and one.count_nonzero():
            raise CheckFailed(f"A gradient of `{name}` comes back through the lse: mark it as not differentiable.")


@check("numerics", points=1)
def test_extreme_scores(submission: Submission, draw: Draw) -> None:
    """Scores of ±10,000 give no NaN and no infinity, in whichever block they are, and neither do their gradients."""
    attention = one_block(submission, draw)
    query, key, value = inputs(draw, t=8, s=8)
    query *= HUGE * D**0.5 / (query @ key.mT).abs().max().item()
    low = -(query.abs() + 1), 1 + 3e-4 * draw.normal(B, H, 8, D), draw.normal(B, H, 8, DV)
    low[1].mul_(HUGE * D**0.5 / (low[0] @ low[1].mT).abs().max().item())
    cases = [((query, key, value), False), ((query, key, value), True), (low, True)]
    got = [attention(*given, 2, causal) for given, causal in cases]
    grown = [x.clone().requires_grad_() for x in (query, key, value)]
    back = attention.gradients(*grown, 2, True, upstream=(draw.normal(B, H, 8, DV), None))
    for one, (given, causal) in zip(got, cases, strict=True):
        equal(one, given, causal, tolerance=HUGE_TOLERANCE)
    for name, one in zip(PARTS, back.inputs, strict=True):
        if one is not None and not one.isfinite().all():
            raise CheckFailed(f"For scores of ±10,000 there is NaN or infinity in the gradient of `{name}`.")


@check("numerics", points=0.25)
def test_dtypes(submission: Submission, draw: Draw) -> None:
    """float64, float32, float16 and bfloat16 in, the same out, as accurate as each of them allows."""
    attention, dtypes = finding(submission, draw), (torch.float64, torch.float32, torch.float16, torch.bfloat16)
    given = [inputs(draw, d=3, dtype=dtype) for dtype in dtypes]
    got = [output_of(attention(*each, 3)) for each in given]
    exact = inputs(draw, d=3, dtype=torch.float64, grad=True)
    upstream = draw.normal(B, H, T, DV, dtype=torch.float64)
    back = attention.gradients(*exact, 3, upstream=(upstream, None))
    for one, each, dtype in zip(got, given, dtypes, strict=True):
        equal(one, each, dtype=dtype)
    for name, one, wanted in zip(PARTS, back.inputs, qkv.gradients(right(*exact), upstream, exact), strict=True):  # type: ignore[arg-type]
        gradient(one, wanted, f"`{name}`", dtype=torch.float64)


@check("device", points=0.125)
def test_device(submission: Submission, draw: Draw) -> None:
    """Output and lse are on the device of the inputs, and nothing is made elsewhere (tried on `meta`)."""
    attention = finding(submission, draw)
    got = [attention.on("meta", *inputs(draw, s=T), size, causal) for size, causal in ((T, False), (2, True))]
    for one in got:
        output, lse = pair(one, "`(output, lse)`")
        on_meta(output, (B, H, T, DV))
        on_meta(lse, (B, H, T), "the lse")


@check("shape", points=0.25)
def test_small_and_odd_inputs(submission: Submission, draw: Draw) -> None:
    """One query, one token, a batch of one, and tensors that are not contiguous in memory work like any others."""
    in_blocks(submission, draw)
    attention = submission.function(NAME)
    turned = [draw.normal(B, H, D, T).mT, draw.normal(B, S, H, D).transpose(1, 2), draw.normal(B, H, DV, S).mT]
    cases = {
        "one query": (inputs(draw, t=1), 3, False),
        "one token": (inputs(draw, t=1, s=1, b=1, h=1), 2, True),
        "one number in each value": (inputs(draw, dv=1), 7, False),
        "transposed tensors": (turned, 7, False),
    }
    got = {what: attention(*given, size, causal) for what, (given, size, causal) in cases.items()}
    for what, (given, _, causal) in cases.items():
        equal(got[what], given, causal, f" for {what}")


@check("shape", points=0.125)
def test_no_keys(submission: Submission, draw: Draw) -> None:
    """Without any keys, s = 0, the output is 0 and the lse is −∞."""
    got = pair(finding(submission, draw)(*inputs(draw, s=0), 2), "`(output, lse)`")
    close(got[0], torch.zeros(B, H, T, DV))
    lse = tensor(got[1], "the lse")
    shape(lse, (B, H, T), "the lse")
    if not (lse == -torch.inf).all():
        raise CheckFailed("Without keys the sum of the exponentials is 0, so the lse should be −∞.")


@check("arguments", points=0.125)
def test_block_size(submission: Submission, draw: Draw) -> None:
    """A block size below 1 is refused with a `ValueError`."""
    attention, given = finding(submission, draw), inputs(draw)
    errors = {size: attention.error(*given, size) for size in (0, -1, -S)}
    for size, error in errors.items():
        refuses(error, f"a block size of {size}")


@check("values", points=0.25)
def test_made_by_hand(submission: Submission, draw: Draw) -> None:
    """It does without torch's attention functions: one fused call would pass for it."""
    finds(submission, draw)
    by_hand(submission)


def by_hand(submission: Submission) -> None:
    """Raises CheckFailed if the definition reaches one of torch's attention functions."""
    try:
        does_without(submission, NAME, source_text.TORCHS_ATTENTION)
    except CheckFailed as failure:
        submission.note("by hand", False)  # which no value shows
        raise failure from None


@check("mode", points=0.375, witnessed=True)
def test_what_is_kept_and_made(submission: Submission, draw: Draw) -> None:
    """Neither way makes t × s numbers at once, no more than inputs and outputs are kept, and inputs stay as they were.

    What is seen are the operations of torch in the student's process, and what torch and `ctx` hold for the backward
    pass.
    """
    attention, t, size = finding(submission, draw), 64, 8
    given = inputs(draw, t=t, s=t, d=2, dv=2, b=1, h=1)
    attention.watched(*given, size, True)
    forward = submission.last.largest
    given = [x.requires_grad_() for x in given]
    attention.gradients(*given, size, True, upstream=(draw.normal(1, 1, t, 2), None), witness="watch")
    unchanged(submission)
    both, kept, most = submission.last.largest, submission.last.kept, 3 * (4 * 2 * t + t)
    submission.note(forward < t * t, both < t * t, kept <= most, kept <= t * t)
    if kept > most:
        raise CheckFailed(
            f"For {t} tokens with keys and values of 2 numbers, {kept} numbers are kept for the backward pass; query,"
            f" key, value, output and lse have {4 * 2 * t + t}. Make the scores once more instead."
        )
    for way, largest in (("forward", forward), ("backward", both)):
        if largest >= t * t:
            raise CheckFailed(
                f"In blocks of {size}, where t × s is {t * t}, a tensor of {largest} numbers is made at once, {way}."
            )


@check("mode", points=0.25, witnessed=True)
def test_hidden_tiles_are_not_made(submission: Submission, draw: Draw) -> None:
    """With `causal=True` no tile above the diagonal is made, neither forward nor backward: fewer products."""
    attention, counts = finding(submission, draw), {}
    given = inputs(draw, t=48, s=48, d=2, dv=2, b=1, h=1, grad=True)
    for causal in (False, True):
        attention.counted(*given, 4, causal)
        forward = submission.last.products
        attention.gradients(*given, 4, causal, upstream=(draw.normal(1, 1, 48, 2), None), witness="count")
        counts[causal] = {"forward": forward, "backward": submission.last.products - forward}
    made = {way: counts[True][way] / max(counts[False][way], 1) for way in counts[True]}
    submission.note(*(share < 0.8 for share in made.values()))
    for way, share in made.items():
        if share >= 0.8:
            raise CheckFailed(
                f"With `causal=True`, 48 tokens in blocks of 4, {share:.0%} of the products are made {way}: of 144"
                " tiles 66 lie above the diagonal, and need not be made."
            )


@check("device", points=0)
def test_cuda(submission: Submission, draw: Draw) -> None:
    """On a GPU the values are the same, in float32 and in float16."""
    on_cuda(submission)
    for dtype in (torch.float32, torch.float16):
        given = inputs(draw, t=S, dtype=dtype)
        got = submission.function(NAME).on("cuda", *given, 3, True)
        stayed_on_cuda(submission)
        equal(got, given, True, dtype=dtype)


def wrong_step(submission: Submission, draw: Draw) -> steps.Step | None:
    """The first step of plain attention that is wrong, in a single block; then the causal mask."""
    attention = submission.function(NAME)

    def case(times: float, causal: bool = False) -> steps.Case:
        given = draw.normal(B, 1, 3, D), times * draw.normal(B, 1, 3, D), draw.normal(B, 1, 3, D)
        return steps.Case(output_of(attention(*given, 3, causal)), right(*given, causal=causal), given[2])

    return steps.first_wrong(lambda: case(0), lambda: case(1), ("mask", lambda: case(1, True)))
