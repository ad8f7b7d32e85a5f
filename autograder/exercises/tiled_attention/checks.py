"""Checks of `tiled_attention(q, k, v, block_size, causal=False)`.

(b, h, t, d), (b, h, s, d), (b, h, s, dv) -> (b, h, t, dv).

Checks that are not about values start with `finding`, an easy case with a single block. Those about several blocks
first ask for one (`one_block`), and those about the causal mask for several blocks without it (`several_blocks`), so
that a slip in one of these does not look like one in another.
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
    refuses,
    shape,
    stayed_on_cuda,
    unchanged,
)
from ...checks.gates import easy_case
from ...checks.proxies import Proxy, Submission
from ..families import easy_cases
from ..reference import heads, qkv

B, H, T, S, D, DV = 2, 3, 5, 7, 16, 6  # all different; the root of 16 is exact in any dtype, and not its half
NAME = "tiled_attention"
PARTS = ("q", "k", "v")


def inputs(
    draw: Draw, t: int = T, s: int = S, d: int = D, dv: int = DV, b: int = B, h: int = H, **how: Any
) -> list[torch.Tensor]:
    """Queries, keys and values."""
    return [draw.normal(b, h, *size, **how) for size in [(t, d), (s, d), (s, dv)]]


def right(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool = False) -> torch.Tensor:
    return qkv.attention(q, k, v, mask=heads.causal(q.shape[-2]) if causal else None)[0]


def whole(output: Any) -> Any:
    """The output; of a pair, such as with the lse, the first part, where that is not the point."""
    return output[0] if isinstance(output, (tuple, list)) and len(output) == 2 else output


def equal(got: Any, given: Sequence[torch.Tensor], causal: bool = False, what: str = "", **how: Any) -> None:
    close(whole(got), right(*given, causal=causal), f"the output{what}", **how)


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
    output = whole(submission.function(NAME)(query[None, 1:], key[None, 1:], values, 4))
    shape(output, (1, 1, 4, 5))
    output = output[0, 0].detach().double()
    weights, total = output[:, :4], output[:, 4]
    most, others = (weights * partner).sum(-1), weights.masked_fill(partner.bool(), 0.0).amax(-1)
    if not ((most > 1.05 * others) & (weights.amin(-1) > -1e-6) & (0.2 < total) & (total < 1.1)).all():
        raise CheckFailed("Even in a single block a query does not give most weight to the one key that fits it.")


def one_block(submission: Submission, draw: Draw) -> Proxy:
    """The function, after it was right in one block."""
    right_in_one_block(submission, draw)
    return submission.function(NAME)


@easy_case
def right_in_one_block(submission: Submission, draw: Draw) -> None:
    """Raises CheckFailed unless it is right in one block, without a fused call: in that, no blocks are put together."""
    given = inputs(draw)
    equal(submission.function(NAME)(*given, S), given, what=" in a single block of all keys")
    by_hand(submission)


def several_blocks(submission: Submission, draw: Draw) -> Proxy:
    """The function, after it was right in several blocks of equal size."""
    right_in_blocks(submission, draw)
    return submission.function(NAME)


@easy_case
def right_in_blocks(submission: Submission, draw: Draw) -> None:
    """Raises CheckFailed unless it is right in several blocks of equal size."""
    right_in_one_block(submission, draw)
    given = inputs(draw, s=6)
    for size in (3, 2):
        equal(submission.function(NAME)(*given, size), given, what=f" for 6 keys in blocks of {size}")


def rising(draw: Draw, s: int = 8, step: float = 2.0, **how: Any) -> list[torch.Tensor]:
    """Queries, keys and values whose scores grow from key to key by `step`, so that the largest always comes later."""
    q, k, v = inputs(draw, s=s, **how)
    q = q.abs() + 0.5
    k = 0.1 * k + step * torch.arange(s)[:, None] * D**0.5 / q.sum(-1).mean()
    return [q, k, v]


@check("values", points=0.25)
def test_one_block(submission: Submission, draw: Draw) -> None:
    """In a single block of all keys it is attention: a softmax of the scores / √d, times the values."""
    attention = submission.function(NAME)
    cases = [(inputs(draw), S), (inputs(draw, s=1), 1), ([draw.normal(4, 4, 4, 4) for _ in range(3)], 4)]
    got = [attention(*given, size) for given, size in cases]
    for one, (given, _) in zip(got, cases, strict=True):
        equal(one, given)


@check("values", points=0.5)
def test_blocks_that_divide(submission: Submission, draw: Draw) -> None:
    """In blocks of equal size the output is the same: what was found so far is scaled to each new maximum."""
    attention = one_block(submission, draw)
    cases = [(inputs(draw, s=6), size) for size in (3, 2)] + [(inputs(draw, t=8, s=8, d=8, dv=8), 4)]
    cases += [(inputs(draw, t=33, s=64, d=3, dv=2, b=1), 16)]
    got = [attention(*given, size) for given, size in cases]
    for one, (given, size) in zip(got, cases, strict=True):
        equal(one, given, what=f" for {given[1].shape[-2]} keys in blocks of {size}")


@check("values", points=0.375)
def test_any_order_of_scores(submission: Submission, draw: Draw) -> None:
    """It does not matter in which block the largest score is: in the last, in the first or in between."""
    attention, order = one_block(submission, draw), torch.randperm(8, generator=draw.generator)
    q, k, v = rising(draw)
    cases = {"growing": (q, k, v), "falling": (q, k.flip(-2), v), "mixed": (q, k[..., order, :], v)}
    got = {what: attention(*given, 2) for what, given in cases.items()}
    for what, given in cases.items():
        equal(got[what], given, what=f" for {what} scores in blocks of 2")


@check("values", points=0.25)
def test_blocks_that_do_not_divide(submission: Submission, draw: Draw) -> None:
    """The last block may be shorter: 7 keys in blocks of 2, 3, 4, 5 and 6."""
    attention, given = several_blocks(submission, draw), inputs(draw)
    got = [attention(*given, size) for size in range(2, S)]
    for size, one in zip(range(2, S), got, strict=True):
        equal(one, given, what=f" for 7 keys in blocks of {size}")


@check("values", points=0.25)
def test_extreme_block_sizes(submission: Submission, draw: Draw) -> None:
    """Blocks of 1 key, and blocks larger than all keys together."""
    attention, given = finding(submission, draw), inputs(draw)
    got = {size: attention(*given, size) for size in (1, S + 1, 100)}
    for size, one in got.items():
        equal(one, given, what=f" for 7 keys in blocks of {size}")


@check("masking", points=0.5)
def test_causal(submission: Submission, draw: Draw) -> None:
    """With `causal=True` query i sees the keys 0 to i and no others, wherever the blocks begin and end."""
    attention = several_blocks(submission, draw)
    given, longer = inputs(draw, t=6, s=6), inputs(draw, t=11, s=11)
    cases = [(given, size) for size in (6, 3, 2, 1, 4)] + [(longer, size) for size in (3, 5, 8)]
    got = [attention(*each, size, causal=True) for each, size in cases]
    for one, (each, size) in zip(got, cases, strict=True):
        equal(one, each, causal=True, what=f" for {each[0].shape[-2]} tokens in blocks of {size}")


@check("masking", points=0.25)
def test_causal_in_one_block(submission: Submission, draw: Draw) -> None:
    """A later token changes nothing for an earlier one, and the first token gets its own value."""
    attention = one_block(submission, draw)
    given, place = inputs(draw, t=6, s=6), draw.integer(2, 5)
    later = [x.clone() for x in given]
    for x in later:
        x[..., place:, :] += draw.normal(*x[..., place:, :].shape)
    got = [whole(attention(*each, 6, True)) for each in (given, later)]
    for one in got:
        shape(one, (B, H, 6, DV))
    close(got[1][..., :place, :], got[0][..., :place, :].double(), "what tokens get after a change of later ones")
    close(got[0][..., 0, :], given[2][..., 0, :].double(), "what the first token gets")
    equal(got[0], given, causal=True)


@check("shape", points=0.125)
def test_small_and_odd_inputs(submission: Submission, draw: Draw) -> None:
    """One query, one token, a batch of one, another width of the values, and tensors that are not contiguous work."""
    attention = finding(submission, draw)
    turned = [draw.normal(B, H, D, T).mT, draw.normal(B, S, H, D).transpose(1, 2), draw.normal(B, H, DV, S).mT]
    cases = {
        "one query": (inputs(draw, t=1), 3, False),
        "one token": (inputs(draw, t=1, s=1, b=1, h=1), 2, True),
        "one number in each value": (inputs(draw, dv=1), 7, False),
        "transposed tensors": (turned, 7, False),
        "more queries than keys": (inputs(draw, t=9, s=4), 4, False),
    }
    got = {what: attention(*given, size, causal) for what, (given, size, causal) in cases.items()}
    for what, (given, _, causal) in cases.items():
        equal(got[what], given, causal, f" for {what}")


@check("shape", points=0.125)
def test_no_keys(submission: Submission, draw: Draw) -> None:
    """Without any keys, s = 0, the output is 0 and not NaN."""
    got = whole(finding(submission, draw)(*inputs(draw, s=0), 2))
    close(got, torch.zeros(B, H, T, DV))


@check("numerics", points=0.75)
def test_extreme_scores(submission: Submission, draw: Draw) -> None:
    """Scores of ±10,000 give no NaN and no infinity, in whichever block they are."""
    attention, cases = several_blocks(submission, draw), []
    q, k, v = inputs(draw, s=8)
    q *= HUGE * D**0.5 / (q @ k.mT).abs().max().item()
    cases.append(((q, k, v), False))
    for order in (1, -1):
        q, k, v = rising(draw, step=HUGE / 8)
        cases.append(((q, k.flip(-2) if order < 0 else k, v), False))
    q, k, v = rising(draw, t=8, step=HUGE / 8)
    cases += [((q, -k - HUGE * 0.01, v), False), ((q, k, v), True), ((q, -k, v), True)]
    q, k = draw.normal(1, 1, 1, D).abs().expand(B, H, 8, D).clone() + 1, -(1 + 3e-4 * draw.normal(B, H, 8, D))
    k *= HUGE * D**0.5 / (q @ k.mT).abs().max().item()
    cases.append(((q, k, draw.normal(B, H, 8, DV)), True))  # all around -1e4
    got = [attention(*given, 2, causal) for given, causal in cases]
    for one, (given, causal) in zip(got, cases, strict=True):
        equal(one, given, causal, tolerance=HUGE_TOLERANCE)


def right_gradients(submission: Submission, draw: Draw, size: int, causal: bool, t: int = T) -> None:
    """Raises CheckFailed unless the gradients of random numbers times the output are those of the reference."""
    given, upstream = inputs(draw, t=t, grad=True), draw.normal(B, H, t, DV)
    got = submission.function(NAME).gradients(*given, size, causal, upstream=upstream)
    expected = qkv.gradients(right(*given, causal=causal), upstream.double(), given)
    for name, one, wanted in zip(PARTS, got.inputs, expected, strict=True):
        gradient(one, wanted, f"`{name}`", tolerance=1e-3)


@check("gradients", points=0.25)
def test_gradients(submission: Submission, draw: Draw) -> None:
    """Queries, keys and values get the right gradients through all blocks."""
    with gate():
        right_gradients(submission, draw, S, False)
    for size in (3, 1):
        right_gradients(submission, draw, size, False)


@check("gradients", points=0.125)
def test_causal_gradients(submission: Submission, draw: Draw) -> None:
    """With `causal=True` the gradients are right as well, and none of them is NaN."""
    with gate():
        right_gradients(submission, draw, S, False)
    for size in (7, 2):
        right_gradients(submission, draw, size, True, t=S)


@check("numerics", points=0.25)
def test_dtypes(submission: Submission, draw: Draw) -> None:
    """float64, float32, float16 and bfloat16 in, the same out, as accurate as each of them allows."""
    attention, dtypes = finding(submission, draw), (torch.float64, torch.float32, torch.float16, torch.bfloat16)
    given = [inputs(draw, d=3, dtype=dtype) for dtype in dtypes]
    got = [whole(attention(*each, 3)) for each in given]
    for one, each, dtype in zip(got, given, dtypes, strict=True):
        equal(one, each, dtype=dtype)


@check("device", points=0.125)
def test_device(submission: Submission, draw: Draw) -> None:
    """The output lies on the device of the inputs, and nothing is made elsewhere (tried on `meta`)."""
    attention = finding(submission, draw)
    got = [attention.on("meta", *inputs(draw, s=T), size, causal) for size, causal in ((T, False), (2, True))]
    for one in got:
        on_meta(whole(one), (B, H, T, DV))


@check("arguments", points=0.125)
def test_block_size(submission: Submission, draw: Draw) -> None:
    """A block size below 1 is refused with a `ValueError`."""
    attention, given = finding(submission, draw), inputs(draw)
    for size in (0, -1, -S):
        refuses(attention.error(*given, size), f"a block size of {size}")


@check("values", points=0.125)
def test_output_alone(submission: Submission, draw: Draw) -> None:
    """It returns the output alone, (b, h, t, dv)."""
    shape(finding(submission, draw)(*inputs(draw), S), (B, H, T, DV))


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


@check("values", points=0.25, witnessed=True)
def test_never_all_scores(submission: Submission, draw: Draw) -> None:
    """No tensor of t × s numbers is made, neither of scores nor of a mask, when a block is smaller than s.

    What is seen are the operations of torch in the student's process, one result after another: blocks that are kept
    in a list, and never put together, are not.
    """
    attention, held = finding(submission, draw), []
    small = {"d": 2, "dv": 1, "b": 1, "h": 2}  # two heads, so that a mask of all is smaller than all scores
    for given, causal in ((inputs(draw, t=32, s=40, **small), False), (inputs(draw, t=36, s=36, **small), True)):
        pairs = given[0].shape[-2] * given[1].shape[-2]
        attention.watched(*given, 4, causal)
        held.append((submission.last.largest, pairs, causal))
    submission.note(*((largest < pairs, largest < 2 * pairs) for largest, pairs, _ in held))
    for largest, pairs, causal in held:
        if largest >= pairs:
            how = "with `causal=True` " if causal else ""
            raise CheckFailed(
                f"In blocks of 4 keys, where t × s is {pairs}, a tensor of {largest} numbers is made {how}at once."
            )


@check("mode", points=0.125, witnessed=True)
def test_again(submission: Submission, draw: Draw) -> None:
    """Queries, keys and values stay as they were, and a second call with the same gives the same."""
    attention, given = finding(submission, draw), inputs(draw, t=S)
    first = whole(attention(*given, 3))
    unchanged(submission)
    attention(*given, 2, True)
    unchanged(submission)
    close(whole(attention(*given, 3)), first.double(), "what the second call returns")


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
        return steps.Case(whole(attention(*given, 3, causal)), right(*given, causal=causal), given[2])

    return steps.first_wrong(lambda: case(0), lambda: case(1), ("mask", lambda: case(1, True)))
