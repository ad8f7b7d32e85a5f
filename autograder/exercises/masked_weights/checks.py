"""Checks of `masked_weights(query, key)`: (b, t, d) twice -> (b, t, t), causal, without a scale.

Checks that are not about the values of the whole formula start with `own_kind`, an easy case. Code that does not attend
gets no points there, while a scale too many, or another mask, does not cost the points for, say, the device.
"""

import torch

from ...checks import steps
from ...checks.api import (
    HUGE,
    HUGE_TOLERANCE,
    CheckFailed,
    Draw,
    check,
    close,
    gradient,
    on_cuda,
    on_meta,
    refuses,
    shape,
    stayed_on_cuda,
    tensor,
    unchanged,
)
from ...checks.gates import easy_case
from ...checks.proxies import Proxy, Submission
from ..families import easy_cases
from ..reference import causal, qkv

B, T, D = 2, 5, 4
NEARLY_EXACT = 3e-10  # in float64, where the right weight is 1: a sum that is 1e-9 too large shows, always
PRINTED = 1e-4  # four printed decimals, and some room for the rounding of another build of torch


def inputs(draw: Draw, *leading: int, dtype: torch.dtype = torch.float32, grad: bool = False) -> list[torch.Tensor]:
    """A query and a key."""
    return [draw.normal(*(leading or (B,)), T, D, dtype=dtype, grad=grad) for _ in range(2)]


def wrong_step(submission: Submission, draw: Draw) -> steps.Step | None:
    """The first step at which the function goes wrong: with equal scores, and with usual ones."""

    def case(times: float) -> steps.Case:
        query, key = inputs(draw)
        got = submission.function("masked_weights")(query, times * key)
        return steps.Case(got, causal.masked_weights(query, times * key), torch.eye(T))

    return steps.first_wrong(lambda: case(0), lambda: case(1))


def own_kind(submission: Submission, draw: Draw, any_mask: bool = True) -> Proxy:
    """The function, after it has passed the easy case."""
    weighs_own_kind(submission, draw, any_mask=any_mask)
    return submission.function("masked_weights")


@easy_case
def weighs_own_kind(submission: Submission, draw: Draw, any_mask: bool) -> None:
    """Raises CheckFailed unless an easy case shows a softmax of scores, of any scale and under any mask by place.

    The mask may also be applied to the weights, so that rows don't sum to 1. Without `any_mask`, each query has to find
    the keys of its own sign, or all keys alike, up to its own place.
    """
    function = submission.function("masked_weights")
    query = easy_cases.kinds(draw, T, D)[..., :1].repeat(1, 1, D) * (easy_cases.SURE / D) ** 0.5
    got, right = function(query, query.clone()), causal.masked_weights(query, query)
    shape(got, right.shape, "the weights")
    if any_mask:
        got = shares(got.nan_to_num())
    else:
        close(got[3], right[3], "the weights of queries that fit some keys alike")
    one_by_one, what = torch.eye(T).expand(3, T, T), "each row of the weights of mild scores"
    easy_cases.mixes(got[:3], query[:3] @ query[:3].mT, one_by_one, what, causal=True, any_mask=any_mask)


@check("values", points=0.5)
def test_values(submission: Submission, draw: Draw) -> None:
    """The weights are a softmax of Q Kᵀ, unscaled, over the keys up to the query's own place, few or many."""
    function, t = submission.function("masked_weights"), draw.integer(65, 130)
    small, large = inputs(draw, 9), [draw.normal(B, t, 33) for _ in range(2)]
    large[0] *= 0.2  # what the missing scale would do
    got = function(*small), function(*large)
    close(got[0], causal.masked_weights(*small), "the weights")
    close(got[1], causal.masked_weights(*large), f"the weights for {t} tokens")


@check("values", points=0.5)
def test_table_of_003(submission: Submission, draw: Draw) -> None:
    """From the seed 1337 it gives the published table, to four decimals."""
    got = submission.function("masked_weights")(*causal.drawn_by_003())
    shape(got, (4, 8, 8), "the weights")
    close(got[0], causal.PRINTED_003, "the published table", tolerance=PRINTED)


@check("shape", points=0.5)
def test_small_and_odd_inputs(submission: Submission, draw: Draw) -> None:
    """One token, a batch of one, b = t = d, and tensors that are not contiguous work like any others."""
    function = own_kind(submission, draw)
    cases = {
        "one token": [draw.normal(B, 1, D) for _ in range(2)],
        "a batch of one": [torch.zeros(1, T, D), draw.normal(1, T, D)],
        "b = t = d": [torch.zeros(D, D, D), draw.normal(D, D, D)],
        "transposed tensors": [torch.zeros(B, D, T).mT, draw.normal(B, D, T).mT],
    }
    got = [function(*given) for given in cases.values()]
    for one, (what, given) in zip(got, cases.items(), strict=True):
        close(one, causal.masked_weights(*given), f"the weights for {what}")


@check("masking", points=0.5)
def test_the_future_does_not_matter(submission: Submission, draw: Draw) -> None:
    """The future gets a weight of exactly 0 and has no influence on the rest; every token of the past has some."""
    function = own_kind(submission, draw, any_mask=False)
    query, key = (0.5 * x for x in inputs(draw))
    query = query.abs() + 0.25  # so a key that grows in all features gets more weight, for certain
    place = draw.integer(1, T - 2)
    future, past = key.clone(), key.clone()
    future[:, place + 1 :] += 3 * draw.normal(B, T - place - 1, D)
    past[:, 0] += 1
    before, other_future, other_past = (function(query, k) for k in (key, future, past))
    for got in (before, other_future, other_past):
        shape(got, (B, T, T), "the weights")
    if before.triu(1).any():
        raise CheckFailed("There is weight above the diagonal.")
    rows = slice(0, place + 1)
    close(other_future[:, rows], before[:, rows].double(), "the weights after a change of later keys")
    if ((other_past - before)[:, 1:].abs().amax(-1) < 1e-4).any():
        raise CheckFailed("There is a token whose weights stay the same when the first key changes.")


@check("gradients", points=0.5)
def test_gradients(submission: Submission, draw: Draw) -> None:
    """The weights pass the right gradients back to the query and the key."""
    given, upstream = inputs(draw, grad=True), draw.normal(B, T, T)
    got = submission.function("masked_weights").gradients(*given, upstream=upstream)
    expected = qkv.gradients([causal.masked_weights(*given)], [upstream], given)
    for name, one, right in zip(("query", "key"), got.inputs, expected, strict=True):
        gradient(one, right, f"the {name}")


@check("numerics", points=0.5)
def test_extreme_scores(submission: Submission, draw: Draw) -> None:
    """Scores of ±10,000 give no NaN and no infinity, and the future still gets exactly 0, also if all are negative."""
    function = own_kind(submission, draw)
    mixed, one_row, negative = inputs(draw), inputs(draw), inputs(draw)
    mixed[0] *= HUGE / largest(*mixed)
    one_row[0][:, 2] *= HUGE / largest(one_row[0][:, 2:3], one_row[1])
    direction = draw.normal(1, 1, D).abs() + 1
    negative = [direction.expand(B, T, D).clone(), -direction * (1 + 1e-3 * negative[1])]
    negative[0] *= HUGE / largest(*negative)
    cases = [
        mixed,
        one_row,
        negative,
        *(poles(draw, dtype) for dtype in (torch.float32, torch.float16, torch.bfloat16)),
    ]
    got = [(function(*given), given) for given in cases]
    for one, given in got:
        shape(one, (B, T, T), "the weights")
        is_half = given[0].dtype is not torch.float32  # such scores leave it no digits for the sum of a row
        close(shares(one) if is_half else one, causal.masked_weights(*given), "the weights", tolerance=HUGE_TOLERANCE)
        if one.triu(1).any():
            raise CheckFailed("There is weight above the diagonal.")


def shares(weights: torch.Tensor) -> torch.Tensor:
    """The weights, each divided by the sum of its row, where that is not 0."""
    total = weights.double().sum(-1, keepdim=True)
    return weights.double() / torch.where(total == 0, 1.0, total)


def poles(draw: Draw, dtype: torch.dtype) -> list[torch.Tensor]:
    """A query and a key: in each row the key of the future has a score of 10,240, those up to the query's own -10,240.

    These numbers are exact in any dtype, and so are the scores.
    """
    query, key = torch.zeros(B, T, D), torch.zeros(B, T, D)
    row = draw.integer(0, T - 2)
    query[:, row], key[:, : row + 1], key[:, row + 1 :] = 64.0, -40.0, 40.0
    return [query.to(dtype), key.to(dtype)]


def largest(query: torch.Tensor, key: torch.Tensor) -> float:
    """The largest absolute score."""
    return (query @ key.mT).abs().max().item()


@check("numerics", points=0.5)
def test_dtypes(submission: Submission, draw: Draw) -> None:
    """float64, float32, float16 and bfloat16 in, the same out, as accurate as each of them allows."""
    function = own_kind(submission, draw)
    cases = []
    for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
        given = inputs(draw, dtype=dtype)
        given[0] *= 0.5  # what the missing scale would do
        cases.append((function(*given), given, dtype))
    one = function(*(draw.normal(B, 1, D, dtype=torch.float64) for _ in range(2)))
    for got, given, dtype in cases:
        close(got, causal.masked_weights(*given), "the weights", dtype=dtype)
    alone = torch.ones(B, dtype=torch.float64)
    close(tensor(one).flatten(), alone, "the weights of one token", dtype=torch.float64, tolerance=NEARLY_EXACT)


@check("device", points=0.5)
def test_device(submission: Submission, draw: Draw) -> None:
    """The weights lie on the device of the inputs, and nothing is made elsewhere (tried on `meta`)."""
    function = own_kind(submission, draw)
    on_meta(function.on("meta", *inputs(draw)), (B, T, T), "the weights")


@check("arguments", points=0.5)
def test_wrong_rank(submission: Submission, draw: Draw) -> None:
    """A query or a key that is not three-dimensional is refused with a `ValueError`."""
    function = own_kind(submission, draw)
    query, key = inputs(draw)
    refused = {
        "a query and a key of shape (t, d)": function.error(query[0], key[0]),
        "a key of shape (t, d)": function.error(query, key[0]),
        "a query of shape (t, d)": function.error(query[0], key),
        "a query and a key with four dimensions": function.error(query[None], key[None]),
    }
    for what, error in refused.items():
        refuses(error, what)


@check("mode", points=0.5, witnessed=True)
def test_again(submission: Submission, draw: Draw) -> None:
    """Query and key stay as they were, and a second call depends on nothing but its own inputs."""
    function = own_kind(submission, draw)
    given, longer = inputs(draw), [draw.normal(B + 1, T + 2, D) for _ in range(2)]
    first = function(*given)
    unchanged(submission)
    other, second = function(*longer), function(*given)
    shape(first, (B, T, T), "the weights")
    shape(other, (B + 1, T + 2, T + 2), "the weights of a larger batch of longer sequences")
    close(second, first, "what the second call returns")


@check("device", points=0)
def test_cuda(submission: Submission, draw: Draw) -> None:
    """On a GPU the weights are the same, in float32 and in float16."""
    on_cuda(submission)
    for dtype in (torch.float32, torch.float16):
        given = inputs(draw, dtype=dtype)
        got = submission.function("masked_weights").on("cuda", *given)
        stayed_on_cuda(submission, "The weights are", "where the inputs are")
        close(got, causal.masked_weights(*given), "the weights", dtype=dtype)
