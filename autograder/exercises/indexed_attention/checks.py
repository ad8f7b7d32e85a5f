"""Checks of `indexed_attention(query, key, value, index_scores, top_k)` -> `(output, weights)`.

(b, h, t, d) twice, (b, h, t, dv) and (b, t, t) give (b, h, t, dv) and (b, h, t, t). Index scores are never equal. All
checks start with `attends`, an easy case in which all keys are picked; where picking is not the point they are, too.
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
from ...checks.proxies import Submission
from ..families import easy_cases, hidden
from ..reference import indexed, qkv

B, H, T, D, DV = 2, 3, 7, 5, 4  # all different
NAME = "indexed_attention"
PARTS = ("query", "key", "value")
NEAR = 2.0**-18  # so near are index scores around 1 that float32 tells them apart, and no shorter float does


def inputs(
    draw: Draw,
    t: int = T,
    b: int = B,
    h: int = H,
    d: int = D,
    dv: int = DV,
    dtype: torch.dtype = torch.float32,
    grad: bool = False,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Queries, keys, values and index scores, which are at least 0.1 apart in each row."""
    query, key, value = (draw.normal(b, h, t, size, dtype=dtype, grad=grad) for size in (d, d, dv))
    order = torch.rand(b, t, t, generator=draw.generator).argsort(dim=2)
    return query, key, value, (0.25 * (order - t // 2)).to(dtype)


def output_of(value: Any) -> Any:
    """The output; of a pair the first part, where the weights are not the point."""
    return value[0] if isinstance(value, (tuple, list)) and value else value


def is_right(got: Any, given: Sequence[torch.Tensor], top_k: int, what: str = "", **how: Any) -> None:
    query, key, value, index = given
    close(output_of(got), indexed.indexed_attention(query, key, value, index, top_k)[0], f"the output{what}", **how)


@easy_case
def attends(submission: Submission, draw: Draw) -> None:
    """Raises CheckFailed unless each of four queries finds the key that it fits, or mixes what all fit to some degree.

    Each query may see all: the last of four tokens, one text for each, with as many picked as there are.
    """
    query, key, scores, partner = easy_cases.matches(draw)
    turned = [torch.arange(4).roll(3 - i) for i in range(4)]
    key, query = key[1], query[1]
    keys = torch.stack([key[order] for order in turned])[:, None]
    values = torch.eye(4).expand(4, 1, 4, 4).clone()
    index = 0.01 * torch.arange(4.0).expand(4, 4, 4)
    asked = torch.stack([query[i].expand(4, 4) for i in range(4)])[:, None].clone()
    function = submission.function(NAME)
    output = tensor(output_of(function(asked, keys, values, index, 4)))
    shape(output, (4, 1, 4, 4))
    weights = output[:, 0, 3].detach().double()
    wanted = torch.stack([partner[i][order] for i, order in enumerate(turned)])
    most, others = (weights * wanted).sum(-1), weights.masked_fill(wanted.bool(), 0.0).amax(-1)
    if not ((most > 1.05 * others) & (weights.amin(-1) > -1e-6)).all():
        raise CheckFailed("Even with all keys picked a query does not give most weight to the one key that fits it.")
    x = torch.stack([easy_cases.mild_tokens(draw, 4, 6) for _ in range(2)])[:, None]
    mild = tensor(output_of(function(x, x, x, index[:2], 4)))
    shape(mild, x.shape)
    easy_cases.last_mixes_softly(mild, x @ x.mT, x, "the weights of mild scores, with all keys picked,")


@check("values", points=0.75)
def test_few(submission: Submission, draw: Draw) -> None:
    """Each query attends to the `top_k` keys of largest index score among those that it may see, in all heads."""
    attends(submission, draw)
    function, cases = submission.function(NAME), [(inputs(draw), top_k) for top_k in (1, 2, 3, 5)]
    cases += [(inputs(draw, 12, 1, 2, 3, 6), 4), (inputs(draw, 4, 4, 4, 4, 4), 2)]
    got = [function(*given, top_k) for given, top_k in cases]
    for one, (given, top_k) in zip(got, cases, strict=True):
        is_right(one, given, top_k, f" for the best {top_k} of {given[0].shape[2]}")


@check("values", points=0.25)
def test_all(submission: Submission, draw: Draw) -> None:
    """With a `top_k` of t or more it is causal attention."""
    attends(submission, draw)
    function, cases = submission.function(NAME), [(inputs(draw), top_k) for top_k in (T, T + 1, 100)]
    got = [function(*given, top_k) for given, top_k in cases]
    for one, (given, top_k) in zip(got, cases, strict=True):
        is_right(one, given, top_k, f" for the best {top_k} of {T}")


@check("masking", points=0.5)
def test_later_keys_take_no_place(submission: Submission, draw: Draw) -> None:
    """Keys that come later are neither seen nor picked, however large their index scores."""
    attends(submission, draw)
    query, key, value, index = inputs(draw)
    index = index + 100 * torch.ones(T, T).triu(1)
    got = submission.function(NAME)(query, key, value, index, 2)
    is_right(got, (query, key, value, index), 2, " where later keys have the largest index scores")


@check("values", points=0.25)
def test_early_queries_see_all(submission: Submission, draw: Draw) -> None:
    """A query that may see fewer than `top_k` keys sees all of these, and no others."""
    attends(submission, draw)
    given = inputs(draw)
    output = output_of(submission.function(NAME)(*given, 4))
    shape(output, (B, H, T, DV))
    expected = indexed.indexed_attention(*given, 4)[0]
    close(output[:, :, :4], expected[:, :, :4], "the output for the first four of seven, with the best 4 picked,")


@check("shape", points=0.25)
def test_weights(submission: Submission, draw: Draw) -> None:
    """The weights come with the output, (b, h, t, t): 0 where a key was not picked, and rows sum to 1."""
    attends(submission, draw)
    given = inputs(draw)
    weights = pair(submission.function(NAME)(*given, 3))[1]
    close(weights, indexed.indexed_attention(*given, 3)[1], "the weights")


@check("gradients", points=0.25)
def test_gradients(submission: Submission, draw: Draw) -> None:
    """Query, key and value get the right gradients, and none is NaN."""
    attends(submission, draw)
    given, upstream = inputs(draw, grad=True), draw.normal(B, H, T, DV)
    got = submission.function(NAME).gradients(*given, 3, upstream=(upstream,))
    expected = qkv.gradients([indexed.indexed_attention(*given, 3)[0]], [upstream.double()], given[:3])
    for name, one, wanted in zip(PARTS, got.inputs, expected, strict=True):
        gradient(one, wanted, f"`{name}`")


@check("numerics", points=0.125)
def test_extreme_scores(submission: Submission, draw: Draw) -> None:
    """Scores and index scores of ±10,000 give no NaN and no infinity, and what is not picked stays unseen."""
    attends(submission, draw)
    cases = []
    for sign in (1, -1):
        query, key, value, index = inputs(draw)
        query, key = query.abs() + 1, sign * (1 + 0.05 * key)
        query *= HUGE * D**0.5 / (query @ key.mT).abs().max()
        cases.append((query, key, value, index * (HUGE / index.abs().max())))
    query, key, value, index = inputs(draw)
    cases.append((*hidden.queries_and_keys(query, key), value, index))
    got = [submission.function(NAME)(*given, 2) for given in cases]
    for one, given in zip(got, cases, strict=True):
        is_right(one, given, 2, tolerance=HUGE_TOLERANCE)


@check("numerics", points=0.125)
def test_dtypes(submission: Submission, draw: Draw) -> None:
    """float64, float32, float16 and bfloat16 in, the same out; near index scores differ, in any float."""
    attends(submission, draw)
    cases = []
    for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
        given = inputs(draw, dtype=dtype)
        other = [*given[:3], given[3].to(torch.float32 if dtype != torch.float32 else torch.float64)]
        near = [*given[:3], 1 + NEAR * given[3].float()]
        cases += [(dtype, one, submission.function(NAME)(*one, 3)) for one in (given, other, near)]
    for dtype, given, got in cases:
        is_right(got, given, 3, dtype=dtype)


@check("device", points=0.125)
def test_device(submission: Submission, draw: Draw) -> None:
    """Output and weights are on the device of the inputs, and nothing is made elsewhere (tried on `meta`)."""
    attends(submission, draw)
    output, weights = pair(submission.function(NAME).on("meta", *inputs(draw), 3))
    on_meta(output, (B, H, T, DV))
    on_meta(weights, (B, H, T, T), "the weights")


@check("arguments", points=0.125)
def test_top_k(submission: Submission, draw: Draw) -> None:
    """A `top_k` below 1 is refused with a `ValueError`."""
    attends(submission, draw)
    given = inputs(draw)
    errors = {top_k: submission.function(NAME).error(*given, top_k) for top_k in (0, -1, -T)}
    for top_k, error in errors.items():
        refuses(error, f"a top_k of {top_k}")


@check("shape", points=0.125)
def test_small_and_odd_inputs(submission: Submission, draw: Draw) -> None:
    """One token, a batch of one, one head, and tensors that are not contiguous in memory work like any others."""
    attends(submission, draw)
    query, key, value, index = inputs(draw)
    turned = [x.transpose(1, 2).contiguous().transpose(1, 2) for x in (query, key, value)]
    cases = {
        "one token": inputs(draw, t=1),
        "a batch of one with one head": inputs(draw, b=1, h=1),
        "transposed tensors": [*turned, index.mT.contiguous().mT],
    }
    got = {what: submission.function(NAME)(*given, 2) for what, given in cases.items()}
    for what, given in cases.items():
        is_right(got[what], given, 2, f" for {what}")


@check("mode", points=0.125, witnessed=True)
def test_again(submission: Submission, draw: Draw) -> None:
    """All four stay as they were, and a second call with the same gives the same."""
    attends(submission, draw)
    function, given = submission.function(NAME), inputs(draw)
    first = output_of(function(*given, 2))
    unchanged(submission)
    function(*given, 4)
    unchanged(submission)
    close(output_of(function(*given, 2)), tensor(first).double(), "what the second call returns")


@check("device", points=0)
def test_cuda(submission: Submission, draw: Draw) -> None:
    """On a GPU the values are the same, in float32 and in float16."""
    on_cuda(submission)
    for dtype in (torch.float32, torch.float16):
        given = inputs(draw, dtype=dtype)
        got = submission.function(NAME).on("cuda", *given, 3)
        stayed_on_cuda(submission)
        is_right(got, given, 3, dtype=dtype)
