"""Checks of `interleaved_to_halves(weight, num_heads)`: (num_heads · d, d_in) -> the same shape.

Most checks that are not about the order itself compare the function with itself, or have a single head.
"""

import re
from collections.abc import Callable

import torch

from ...checks.api import (
    CheckFailed,
    Draw,
    check,
    close,
    gradient,
    name_of,
    on_cuda,
    on_meta,
    refuses,
    shape,
    stayed_on_cuda,
    unchanged,
)
from ...checks.gates import easy_case
from ...checks.proxies import Submission
from ..families.refusals import refusals
from ..reference import modern, qkv

HEADS, D, D_IN = 3, 8, 5


def reordered(weight: torch.Tensor, num_heads: int) -> torch.Tensor:
    """The rows in their right order, head by head: those with an even place in the head first, then the others."""
    d = weight.shape[0] // num_heads
    return weight[[head * d + place for head in range(num_heads) for place in (*range(0, d, 2), *range(1, d, 2))]]


def scores(
    x: torch.Tensor,
    query: torch.Tensor,
    key: torch.Tensor,
    heads: int,
    kv_heads: int,
    turn: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
) -> torch.Tensor:
    """The scores (heads, t, t) of tokens (t, d_in), unscaled, after queries and keys were turned by `turn`.

    The weights are (heads · d, d_in) and (kv_heads · d, d_in); neighbouring heads of queries share one of keys.
    """
    queries, keys = (
        turn(qkv.project(x, weight).unflatten(-1, (many, -1)).transpose(0, 1), torch.arange(len(x)))
        for weight, many in ((query, heads), (key, kv_heads))
    )
    return queries @ keys.repeat_interleave(heads // kv_heads, dim=0).mT


def turn_neighbours(x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    """Pair i of x, its entries 2i and 2i + 1, turned as `modern.rope` turns i and i + d/2: (…, t, d) -> (…, t, d)."""
    d = x.shape[-1]
    angles = positions[:, None] * 10000.0 ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
    turned = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous()) * torch.polar(torch.ones_like(angles), angles)
    return torch.view_as_real(turned).flatten(-2)


@easy_case
def moves_entries(submission: Submission, draw: Draw) -> None:
    """Raises CheckFailed unless the entries of one head are the same as before, and not all where they were."""
    weight = draw.normal(4, D_IN)
    got = submission.function("interleaved_to_halves")(weight, 1)
    shape(got, weight.shape, "the new weight")
    close(
        got.flatten().sort().values, weight.flatten().sort().values.double(), "the entries of the new weight, sorted,"
    )
    if torch.equal(got.float(), weight):
        raise CheckFailed("The new weight is the old one: nothing has moved.")


@check("values", points=0.75)
def test_values(submission: Submission, draw: Draw) -> None:
    """Within each head, rows 0, 2, 4, … come first, then rows 1, 3, 5, …; heads stay where they are."""
    function, cases = submission.function("interleaved_to_halves"), []
    for heads, d, d_in in ((HEADS, D, D_IN), (4, 6, 24), (4, 4, 3), (6, 2, 4)):
        cases.append((draw.normal(heads * d, d_in), heads))
    got = [function(weight, heads) for weight, heads in cases]
    for output, (weight, heads) in zip(got, cases, strict=True):
        close(output, reordered(weight, heads).double(), f"the new weight of {heads} heads")


@check("values", points=0.75)
def test_one_head(submission: Submission, draw: Draw) -> None:
    """In a single head, rows 0, 2, 4, … come first, then all the others."""
    moves_entries(submission, draw)
    weight = draw.normal(D, D_IN)
    got = submission.function("interleaved_to_halves")(weight, 1)
    close(got, reordered(weight, 1).double(), "the new weight of a single head")


@check("values", points=0.75)
def test_same_scores(submission: Submission, draw: Draw) -> None:
    """Half-split rotation with the new weights gives the scores of interleaved rotation with the old ones, also when
    there are fewer heads of keys than of queries."""
    function, x = submission.function("interleaved_to_halves"), draw.normal(6, D_IN)
    query, key = draw.normal(4 * D, D_IN), draw.normal(2 * D, D_IN)
    got = function(query, 4), function(key, 2)
    for new, old, what in zip(got, (query, key), ("queries", "keys"), strict=True):
        shape(new, old.shape, f"the new weight of the {what}")
    close(scores(x, *got, 4, 2, modern.rope), scores(x, query, key, 4, 2, turn_neighbours), "the matrix of scores")


@check("shape", points=0.25)
def test_odd_sizes(submission: Submission, draw: Draw) -> None:
    """One input feature, a square weight and one that is not contiguous work like any other; a head of one pair stays
    as it is."""
    moves_entries(submission, draw)
    function = submission.function("interleaved_to_halves")
    inputs = {
        "one input feature": draw.normal(4, 1),
        "a square weight": draw.normal(4, 4),
        "a transposed tensor": draw.normal(D_IN, 4).mT,
        "every second column of a wider tensor": draw.normal(4, 2 * D_IN)[:, ::2],
        "a head of one pair": draw.normal(2, D_IN),
    }
    got = [function(weight, 1) for weight in inputs.values()]
    for (what, weight), output in zip(inputs.items(), got, strict=True):
        close(output, reordered(weight, 1).double(), f"the new weight for {what}")


@check("numerics", points=0.25)
def test_dtypes(submission: Submission, draw: Draw) -> None:
    """float64, float32, float16 and bfloat16 in, the same out, and not a digit is lost: rows only move."""
    moves_entries(submission, draw)
    function, cases = submission.function("interleaved_to_halves"), []
    for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
        weight = draw.normal(HEADS * D, D_IN, dtype=dtype)
        cases.append((function(weight, HEADS), weight))
    for got, weight in cases:
        shape(got, weight.shape, "the new weight")
        if got.dtype != weight.dtype:
            was, now = name_of(weight.dtype), name_of(got.dtype)
            raise CheckFailed(f"The dtype of the new weight should be the old one's, {was}, but it is {now}.")
        if not torch.equal(got.double().flatten().sort().values, weight.double().flatten().sort().values):
            raise CheckFailed("The new weight does not have the entries of the old one, to the last digit.")


@check("gradients", points=0.25)
def test_gradient(submission: Submission, draw: Draw) -> None:
    """The gradient of each row goes back to where the row came from."""
    moves_entries(submission, draw)
    function = submission.function("interleaved_to_halves")
    weight, upstream = draw.normal(HEADS * D, D_IN, grad=True), draw.normal(HEADS * D, D_IN)
    found = function.gradients(weight, HEADS, upstream=upstream).inputs[0]
    if found is None:
        gradient(None, upstream, "the weight")
    close(function(found, HEADS), upstream.double(), "the gradient of the weight, reordered,")


@check("arguments", points=0.25)
def test_heads_that_do_not_divide(submission: Submission, draw: Draw) -> None:
    """Rows that the heads don't divide are refused with a `ValueError` whose message holds both numbers."""
    moves_entries(submission, draw)
    wrong = {"a weight of 20 rows for 3 heads": (draw.normal(20, D_IN), 3)}
    for what, error in refusals(submission, submission.function("interleaved_to_halves"), wrong).items():
        named = error is not None and error.is_value_error and {"20", "3"} <= set(re.findall(r"\d+", error.message))
        submission.note("both numbers" if named else "not both numbers")
        refuses(error, what, 20, 3)


@check("arguments", points=0.25)
def test_odd_heads(submission: Submission, draw: Draw) -> None:
    """Heads with an odd number of rows, which are no pairs, are refused with a `ValueError`."""
    moves_entries(submission, draw)
    wrong = {f"a weight of {rows} rows for 2 heads": (draw.normal(rows, D_IN), 2) for rows in (6, 10)}
    for what, error in refusals(submission, submission.function("interleaved_to_halves"), wrong).items():
        refuses(error, what)


@check("device", points=0.25)
def test_device(submission: Submission, draw: Draw) -> None:
    """The new weight lies on the device of the old one, and nothing is made elsewhere (tried on `meta`)."""
    moves_entries(submission, draw)
    weight = draw.normal(HEADS * D, D_IN)
    on_meta(submission.function("interleaved_to_halves").on("meta", weight, HEADS), weight.shape, "the new weight")


@check("mode", points=0.25, witnessed=True)
def test_again(submission: Submission, draw: Draw) -> None:
    """The weight that is given stays as it was, and a second call gives the same."""
    moves_entries(submission, draw)
    function, weight = submission.function("interleaved_to_halves"), draw.normal(HEADS * D, D_IN)
    first = function(weight, HEADS)
    unchanged(submission)
    function(draw.normal(2 * D, D_IN + 1), 2)
    again = function(weight, HEADS)
    shape(first, weight.shape, "the new weight")
    close(again, first.double(), "the new weight of a second call")


@check("device", points=0)
def test_cuda(submission: Submission, draw: Draw) -> None:
    """On a GPU the new weight is the same."""
    on_cuda(submission)
    weight = draw.normal(HEADS * D, D_IN)
    got = submission.function("interleaved_to_halves").on("cuda", weight, HEADS)
    stayed_on_cuda(submission)
    close(got, reordered(weight, HEADS).double(), "the new weight")
