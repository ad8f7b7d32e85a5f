"""Checks of `merge(output_a, lse_a, output_b, lse_b)`: (…, t, dv), (…, t) twice -> (…, t, dv), (…, t).

Checks that are not about values start with `averaging`, an easy case. An lse that is wrong or missing costs the checks
that are about it: the others leave it out where it is wrong in an easy case (`lse_counts`).
"""

from collections.abc import Sequence
from typing import Any

import torch

from ...checks.api import (
    HUGE,
    HUGE_TOLERANCE,
    CheckFailed,
    Draw,
    check,
    close,
    gate,
    gradient,
    on_cuda,
    on_meta,
    pair,
    shape,
    stayed_on_cuda,
    tensor,
    unchanged,
)
from ...checks.gates import easy_case
from ...checks.proxies import Proxy, Submission
from ..families import easy_cases
from ..reference import long, qkv

B, H, T, S, D, DV = 2, 3, 5, 7, 4, 6
INF = float("inf")
SIDES = ("output_a", "lse_a", "output_b", "lse_b")


def sides(
    draw: Draw, *leading: int, dtype: torch.dtype = torch.float32, grad: bool = False, dv: int = DV
) -> list[torch.Tensor]:
    """An output and an lse for each of two sets of keys, with these leading dimensions; their lse are a few apart."""
    leading = leading or (B, H)
    given = []
    for _ in range(2):
        given.append(draw.normal(*leading, T, dv, dtype=dtype, grad=grad))
        given.append(draw.normal(*leading, T, dtype=dtype, scale=1.5, grad=grad))
    return given


def parts(got: Any) -> Sequence[Any]:
    """The output and the lse; from the output alone, the lse is None."""
    return (got, None) if isinstance(got, torch.Tensor) else pair(got, "`(output, lse)`")


def both(
    got: Any,
    right: Sequence[torch.Tensor],
    what: str = "",
    lse_counts: bool = True,
    **how: Any,
) -> None:
    """Raises CheckFailed unless `got` holds the right output and, if that counts, the right lse."""
    output, lse = parts(got)
    close(output, right[0], f"the output{what}", **how)
    if lse_counts:
        equal_lse(lse, right[1], f"the lse{what}", **how)


def equal_lse(lse: Any, right: torch.Tensor, what: str, **how: Any) -> None:
    """Raises CheckFailed unless it is the right lse: -inf in the same places, and the same numbers elsewhere."""
    shape(lse, right.shape, what)
    empty = right == -INF
    if (lse.detach()[empty] != -INF).any():
        raise CheckFailed(f"{what[:1].upper()}{what[1:]} should be -inf where both sides are empty, and it is not.")
    close(torch.where(empty, 0.0, lse.double()).to(lse.dtype), torch.where(empty, 0.0, right), what, **how)


def averaging(submission: Submission, draw: Draw) -> Proxy:
    """The function, after it was right in an easy case."""
    averages(submission, draw)
    return submission.function("merge")


@easy_case
def averages(submission: Submission, draw: Draw) -> None:
    """Raises CheckFailed unless two sides of the same lse, 0, are averaged, and others count by a softmax of theirs.

    Any base of the exponential is let through.
    """
    (output_a, lse_a, output_b, lse_b), nothing = sides(draw), torch.zeros(B, H, T)
    merge = submission.function("merge")
    output, _ = parts(merge(output_a, nothing, output_b, nothing.clone()))
    close(output, (output_a + output_b).double() / 2, "the output for two sides with an lse of 0 each")
    mixed, _ = parts(merge(output_a, lse_a, output_b, lse_b))
    shape(mixed, output_a.shape)
    outputs = torch.stack([output_a, output_b], dim=-2)  # (b, h, t, 2, dv)
    lse = torch.stack([lse_a, lse_b], dim=-1).unsqueeze(-2)  # (b, h, t, 1, 2)
    easy_cases.last_mixes_softly(mixed.unsqueeze(-2), lse, outputs, "the shares of the two sides")


@easy_case
def lse_counts(submission: Submission, draw: Draw) -> bool:
    """Whether the lse is right where nothing is empty or extreme, so that other checks look at it as well."""
    given = sides(draw)
    try:
        both(submission.function("merge")(*given), long.merge(*given))
    except CheckFailed:
        return False
    return True


def with_empty_sides(draw: Draw, **how: Any) -> tuple[list[torch.Tensor], torch.Tensor, torch.Tensor]:
    """Two sides of which the first is empty for some queries, the second for others, and neither or both for some.

    The outputs of empty sides are no zeros: what is empty counts nothing.
    """
    given = sides(draw, **how)
    a, b = torch.tensor([0, 1, 0, 1, 0]).bool(), torch.tensor([0, 0, 1, 1, 0]).bool()
    order = torch.randperm(T, generator=draw.generator)
    with torch.no_grad():
        given[1][..., a[order]] = -INF
        given[3][..., b[order]] = -INF
    return given, a[order], b[order]


@check("values", points=0.5)
def test_output(submission: Submission, draw: Draw) -> None:
    """Each side's output counts by exp(lse), its share of the sum of all exponentials."""
    given = sides(draw)
    close(parts(submission.function("merge")(*given))[0], long.merge(*given)[0])


@check("values", points=0.25)
def test_lse(submission: Submission, draw: Draw) -> None:
    """The lse for both together is log(exp(lse_a) + exp(lse_b)), so that one can merge again."""
    given = sides(draw)
    _, lse = pair(submission.function("merge")(*given), "`(output, lse)`")
    close(lse, long.merge(*given)[1], "the lse")


@check("values", points=0.5)
def test_two_halves(submission: Submission, draw: Draw) -> None:
    """Attention to two halves of the keys, merged, is attention to all; three thirds may be merged in any order."""
    merge, keys = averaging(submission, draw), draw.integer(2, S - 2)
    query, key, value = (draw.normal(B, H, *size) for size in [(T, D), (S, D), (S, DV)])
    cuts = [slice(0, 1), slice(1, 1 + keys), slice(1 + keys, S)]
    one, two, three = ([x.float() for x in long.part(query, key[:, :, c], value[:, :, c])] for c in cuts)
    first, later = pair(merge(*one, *two), "`(output, lse)`"), pair(merge(*two, *three), "`(output, lse)`")
    for side in (first, later):
        shape(side[0], (B, H, T, DV))
        shape(side[1], (B, H, T), "the lse")
    whole = long.part(query, key, value)
    both(merge(*(x.detach() for x in first), *three), whole, " of three parts")
    both(merge(*one, *(x.detach() for x in later)), whole, " of three parts")


@check("shape", points=0.125)
def test_shapes(submission: Submission, draw: Draw) -> None:
    """It returns the pair `(output, lse)`, of the shapes of either side, for any number of leading dimensions."""
    merge = averaging(submission, draw)
    square = [draw.normal(T, T), draw.normal(T), draw.normal(T, T), draw.normal(T)]
    cases = [sides(draw, B), sides(draw, 2, B, H), sides(draw, B, H, dv=1), square]
    got, counts = [merge(*given) for given in cases], lse_counts(submission, draw)
    for one, given in zip(got, cases, strict=True):
        pair(one, "`(output, lse)`")
        both(one, long.merge(*given), f" for outputs of shape {tuple(given[0].shape)}", counts)


@check("numerics", points=0.25)
def test_extreme(submission: Submission, draw: Draw) -> None:
    """An lse of ±10,000 gives no NaN, no infinity and no 0 / 0, beside mild ones as well."""
    merge = averaging(submission, draw)
    cases = []
    for far_a, far_b in [(HUGE, HUGE), (-HUGE, -HUGE), (HUGE, -HUGE), (0.0, HUGE), (-HUGE, 0.0)]:
        given = sides(draw)
        cases.append([given[0], given[1] + far_a, given[2], given[3] + far_b])
    mixed = sides(draw)
    mixed[1][..., 0] += HUGE
    mixed[3][..., 1] -= HUGE
    mixed[1][..., 2:4] -= HUGE
    mixed[3][..., 2:4] -= HUGE
    cases.append(mixed)
    got, counts = [merge(*given) for given in cases], lse_counts(submission, draw)
    for one, given in zip(got, cases, strict=True):
        both(one, long.merge(*given), lse_counts=counts, tolerance=HUGE_TOLERANCE)


@check("masking", points=0.25)
def test_one_side_empty(submission: Submission, draw: Draw) -> None:
    """A side without keys, lse -inf, changes nothing, whatever numbers its output holds: the other side comes out."""
    merge = averaging(submission, draw)
    given, a, b = with_empty_sides(draw)
    got, right = parts(merge(*given)), long.merge(*given)
    only = a ^ b
    shape(got[0], right[0].shape)
    close(got[0][:, :, only], right[0][:, :, only], "the output where one side is empty")
    if lse_counts(submission, draw):
        shape(got[1], right[1].shape, "the lse")
        close(got[1][:, :, only], right[1][:, :, only], "the lse where one side is empty")


@check("masking", points=0.25)
def test_both_sides_empty(submission: Submission, draw: Draw) -> None:
    """Two empty sides make an empty one: output 0 and lse -inf, not NaN."""
    merge = averaging(submission, draw)
    given, a, b = with_empty_sides(draw)
    got, right = parts(merge(*given)), long.merge(*given)
    none = a & b
    shape(got[0], right[0].shape)
    close(got[0][:, :, none], right[0][:, :, none], "the output where both sides are empty")
    if lse_counts(submission, draw):
        shape(got[1], right[1].shape, "the lse")
        equal_lse(got[1][:, :, none], right[1][:, :, none], "the lse where both sides are empty")


def right_gradients(submission: Submission, draw: Draw, given: Sequence[torch.Tensor]) -> None:
    """Raises CheckFailed unless the gradients of random numbers times output and lse are those of the reference."""
    given = [x.requires_grad_() for x in given]
    upstream = draw.normal(*given[0].shape), draw.normal(*given[1].shape)
    got = submission.function("merge").gradients(*given, upstream=upstream)
    expected = qkv.gradients(long.merge(*given), upstream, given)
    for name, one, right in zip(SIDES, got.inputs, expected, strict=True):
        gradient(one, right, f"`{name}`")


@check("gradients", points=0.125)
def test_gradients(submission: Submission, draw: Draw) -> None:
    """Both outputs and both lse get the right gradients, from the output and from the lse."""
    right_gradients(submission, draw, sides(draw))


@check("gradients", points=0.25)
def test_gradients_with_empty_sides(submission: Submission, draw: Draw) -> None:
    """Where a side is empty, or both are, no gradient is NaN, and what counts nothing gets a gradient of 0."""
    with gate():
        right_gradients(submission, draw, sides(draw))
    right_gradients(submission, draw, with_empty_sides(draw)[0])


@check("numerics", points=0.125)
def test_dtypes(submission: Submission, draw: Draw) -> None:
    """float64, float32, float16 and bfloat16 in, the same out, as accurate as each of them allows."""
    merge, dtypes = averaging(submission, draw), (torch.float64, torch.float32, torch.float16, torch.bfloat16)
    cases = [sides(draw, dtype=dtype) for dtype in dtypes]
    got, counts = [merge(*given) for given in cases], lse_counts(submission, draw)
    for one, given, dtype in zip(got, cases, dtypes, strict=True):
        both(one, long.merge(*given), lse_counts=counts, dtype=dtype)


@check("device", points=0.125)
def test_device(submission: Submission, draw: Draw) -> None:
    """Output and lse lie on the device of the inputs, and nothing is made elsewhere (tried on `meta`)."""
    output, lse = parts(averaging(submission, draw).on("meta", *sides(draw)))
    on_meta(output, (B, H, T, DV))
    if lse_counts(submission, draw):
        on_meta(lse, (B, H, T), "the lse")


@check("shape", points=0.125)
def test_small_and_odd_inputs(submission: Submission, draw: Draw) -> None:
    """One query, a batch of one, no leading dimension, no query at all, and tensors that are not contiguous work."""
    merge = averaging(submission, draw)
    one = [draw.normal(1, 1, 1, DV), draw.normal(1, 1, 1), draw.normal(1, 1, 1, DV), draw.normal(1, 1, 1)]
    alone = [draw.normal(T, DV), draw.normal(T), draw.normal(T, DV), draw.normal(T)]
    none = [draw.normal(*size) for size in [(B, 0, DV), (B, 0), (B, 0, DV), (B, 0)]]
    turned = [draw.normal(B, H, DV, T).mT, draw.normal(B, T, H).mT, draw.normal(T, H, B, DV).transpose(0, 2)]
    turned.append(draw.normal(T, H, B).transpose(0, 2))
    cases = {"one query": one, "no leading dimension": alone, "no query": none, "transposed tensors": turned}
    got, counts = [merge(*given) for given in cases.values()], lse_counts(submission, draw)
    for each, (what, given) in zip(got, cases.items(), strict=True):
        both(each, long.merge(*given), f" for {what}", counts)


@check("mode", points=0.125, witnessed=True)
def test_again(submission: Submission, draw: Draw) -> None:
    """Outputs and lse stay as they were, and a second call with the same gives the same."""
    merge, given = averaging(submission, draw), sides(draw)
    first = parts(merge(*given))
    unchanged(submission)
    merge(*with_empty_sides(draw)[0])
    unchanged(submission)
    second = parts(merge(*given))
    for one, other in zip(first, second, strict=True):
        if one is not None:
            close(tensor(other), tensor(one), "what the second call returns")


@check("device", points=0)
def test_cuda(submission: Submission, draw: Draw) -> None:
    """On a GPU the values are the same, in float32 and in float16."""
    on_cuda(submission)
    for dtype in (torch.float32, torch.float16):
        given = sides(draw, dtype=dtype)
        got = submission.function("merge").on("cuda", *given)
        stayed_on_cuda(submission, "What is returned is", "where the inputs are")
        both(got, long.merge(*given), dtype=dtype)
