"""Checks of `apply_rope(x, positions, base=10000.0)`: (…, t, d) -> (…, t, d).

Most checks that are not about the formula turn tokens of one pair, d = 2, in which the layout, the frequencies and the
base make no difference, and accept what a single slip makes of it (`ANGLES`, `PRODUCTS`). Others compare the function
with itself, and all of them use heads only where these work (`LEADING`).
"""

import math
from collections.abc import Iterator
from typing import Any

import torch

from ...checks.api import (
    CheckFailed,
    Draw,
    StudentError,
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
from ..reference import modern

IN_FLOAT32 = modern.IN_FLOAT32

B, H, T = 2, 3, 5
FAR = [0, 1, 257, 1000, 4097, 70001]  # bfloat16 has no 257, float16 no 4097 and no 70001

LEADING = ((B, H), ())  # what may stand before (t, d), in the order in which it is tried

# The angle of the first pair by the position, as it should be and as a single slip makes it.
ANGLES = (
    lambda position: position,
    lambda position: -position,
    lambda position: math.pi / 2 - position,
    lambda position: position + 1,
    lambda position: position * (math.pi / 180),
    lambda position: position / 10000,
)

# What a single slip makes of the pair (a, b), by the cosine and the sine of its angle.
PRODUCTS = (
    lambda a, b, cos, sin: (a * cos + b * sin, a * sin + b * cos),
    lambda a, b, cos, sin: (a * cos - b * sin, a * sin - b * cos),
    lambda a, b, cos, sin: (a * sin + b * cos, a * cos - b * sin),
    lambda a, b, cos, sin: (b * cos - a * sin, b * sin + a * cos),
)


def turned(got: Any, x: torch.Tensor, positions: torch.Tensor, what: str = "the output") -> None:
    """Raises CheckFailed unless tokens (…, t, 2) are turned by their positions, but for a single slip."""
    failures = []
    for expected in _turned(x, positions):
        try:
            return close(got, expected, what)
        except CheckFailed as failure:
            failures.append(failure)
    raise failures[0]


def _turned(x: torch.Tensor, positions: torch.Tensor) -> Iterator[torch.Tensor]:
    yield from (modern.rope(x, angle(positions.double())) for angle in ANGLES)
    ones = torch.tensor([1.0, 0.0]).expand(x.shape)
    cos, sin = modern.rope(ones, positions).unbind(-1)
    first, second = x.double().unbind(-1)
    yield from (torch.stack(product(first, second, cos, sin), dim=-1) for product in PRODUCTS)


def pairs(draw: Draw, *leading: int, **how: Any) -> torch.Tensor:
    """Tokens (…, 2) of one pair."""
    return draw.normal(*leading, 2, **how)


@easy_case
def turns(submission: Submission, draw: Draw) -> tuple[int, ...]:
    """The first of `LEADING` with which tokens (a, 0) are turned, by angles that differ. Raises CheckFailed.

    A slip in the products may make tokens shorter.
    """
    apply_rope, positions, failures = submission.function("apply_rope"), torch.arange(7), []
    for leading in LEADING:
        x = torch.zeros(*leading, 7, 2)
        x[..., 0] = 1 + torch.rand(*leading, 7, generator=draw.generator)
        try:
            got = apply_rope(x, positions)
            shape(got, x.shape)
            got = got.double()
            if not ((0.2 * x[..., 0] < got.norm(dim=-1)) & (got.norm(dim=-1) < 1.01 * x[..., 0])).all():
                raise CheckFailed("A token that is turned keeps its length, and one of these has not kept it.")
            if ((got - x).norm(dim=-1) < 1e-4).all():
                raise CheckFailed("The output is the input: no token is turned.")
            directions = got / got.norm(dim=-1, keepdim=True)
            if (directions - directions[..., :1, :]).abs().max() < 1e-5:
                raise CheckFailed("All tokens are turned alike, wherever they stand.")
            return leading
        except (CheckFailed, StudentError) as failure:
            failures.append(failure)
    raise failures[0]


@check("values", points=1.25)
def test_values(submission: Submission, draw: Draw) -> None:
    """Numbers i and i + d/2 of a token are turned by position · base^(−2i/d), from (x1, x2) towards (−x2, x1)."""
    apply_rope, cases = submission.function("apply_rope"), []
    for size in ((T, 6), (9, 10), (4, 4)):
        cases.append((draw.normal(*size), torch.arange(size[0])))
    got = [apply_rope(x, positions) for x, positions in cases]
    for output, (x, positions) in zip(got, cases, strict=True):
        close(output, modern.rope(x, positions))


@check("values", points=0.5)
def test_angles(submission: Submission, draw: Draw) -> None:
    """The angles of the d/2 pairs are position · base^(−2i/d) with i = 0, 1, …, for any even d and any base.

    In a token of equal numbers it makes no difference which of them are pairs, nor, once what comes out is sorted, in
    which order the angles are and which way they turn.
    """
    turns(submission, draw)
    apply_rope, positions = submission.function("apply_rope"), torch.arange(T)
    cases = [(8, ()), (64, ()), (8, (100.0,)), (6, (500000.0,)), (2, (10000,))]
    given = [torch.ones(T, d) * (1 + torch.rand(T, 1, generator=draw.generator)) for d, _ in cases]
    got = [apply_rope(x, positions, *base) for x, (_, base) in zip(given, cases, strict=True)]
    named = apply_rope(given[0], positions, base=500.0)
    for output, x, (d, base) in zip([*got, named], [*given, given[0]], [*cases, (8, (500.0,))], strict=True):
        shape(output, x.shape)
        right = modern.rope(x, positions, *map(float, base)).sort(-1).values
        close(output.sort(-1).values, right, f"the sorted output for d = {d} and a base of {(*base, 10000)[0]:g}")


@check("values", points=0.5)
def test_positions(submission: Submission, draw: Draw) -> None:
    """Positions are taken as they are given: in any order, repeated, far away, negative, or between two whole ones."""
    leading, apply_rope = turns(submission, draw), submission.function("apply_rope")
    cases = {
        "positions from 3 on": torch.arange(3, 3 + T),
        "positions in any order": torch.tensor([7, 2, 2, 300, 0]),
        "negative positions": torch.tensor([-1, -5, 2, 0, 3]),
        "positions between whole ones": torch.tensor([0.5, 1.0, 2.25, 9.5, 0.0]),
        "positions in int32": torch.tensor([4, 0, 1, 2, 9], dtype=torch.int32),
        "every second position of a longer tensor": torch.arange(2, 2 + 2 * T)[::2],
    }
    given = [pairs(draw, *leading, T) for _ in cases]
    got = [apply_rope(x, positions) for x, positions in zip(given, cases.values(), strict=True)]
    for (what, positions), x, output in zip(cases.items(), given, got, strict=True):
        turned(output, x, positions, f"the output for {what}")


@check("masking", points=0.5)
def test_positions_of_a_batch(submission: Submission, draw: Draw) -> None:
    """Positions (b, t) are those of each item, for all of its heads, as in a batch that is padded on the left."""
    turns(submission, draw)
    apply_rope = submission.function("apply_rope")
    padded = torch.tensor([[0, 0, 0, 1, 2], [0, 1, 2, 3, 4], [0, 0, 1, 2, 3]])
    cases = {
        "(b, t, d)": (pairs(draw, 3, T), padded),
        "(b, h, t, d)": (pairs(draw, 3, 2, T), padded),
        "(b, h, t, d) with as many heads as items": (pairs(draw, 3, 3, T), padded),
        "(b, h, t, d) with b = 1": (pairs(draw, 1, 3, T), padded[:1] + 2),
        "(b, h, t, d) with b = h = t": (pairs(draw, T, T, T), torch.stack([torch.arange(T) + 2 * i for i in range(T)])),
        "(b, h, t, d) and positions that are not contiguous": (pairs(draw, T, 2, 3), padded.T.flip(0)),
    }
    got = [apply_rope(x, positions) for x, positions in cases.values()]
    for (what, (x, positions)), output in zip(cases.items(), got, strict=True):
        turned(output, x, positions, f"the output for x of shape {what}")


@check("values", points=0.25)
def test_only_distance_counts(submission: Submission, draw: Draw) -> None:
    """The product of a turned query and a turned key stays the same when both move on by as many places."""
    size = (*turns(submission, draw), T, 8)
    apply_rope, positions = submission.function("apply_rope"), torch.arange(T)
    query, key = draw.normal(*size), draw.normal(*size)
    scores = []
    for moved in (0, 3, 40):
        found = [apply_rope(x, positions + moved) for x in (query, key)]
        for got in found:
            shape(got, size)
        scores.append(found[0].double() @ found[1].double().mT)
    for other in scores[1:]:
        close(other, scores[0], "the scores of queries and keys that have all moved on", 1e-3)


@check("numerics", points=0.5)
def test_half_precision(submission: Submission, draw: Draw) -> None:
    """In float16 and bfloat16 the output is that of float32, rounded: also at positions that they can't hold."""
    size = (*turns(submission, draw), len(FAR), 8)
    apply_rope, positions, cases = submission.function("apply_rope"), torch.tensor(FAR), []
    for dtype in (torch.bfloat16, torch.float16):
        x = draw.normal(*size, dtype=dtype)
        cases.append((apply_rope(x, positions), apply_rope(x.float(), positions), dtype))
    for got, wide, dtype in cases:
        shape(wide, size)
        close(got, wide.double(), f"the output for {name_of(dtype)} and positions up to 70,001", dtype=dtype)


@check("numerics", points=0.25)
def test_float64(submission: Submission, draw: Draw) -> None:
    """float64 in, float64 out, with all digits of the input; the angles may be made in float32."""
    size = (*turns(submission, draw), T, 8)
    apply_rope, positions, step = submission.function("apply_rope"), torch.arange(T), 1e-9
    x, z = draw.normal(*size, dtype=torch.float64), draw.normal(*size, dtype=torch.float64)
    here, there, between = (apply_rope.sample(one, positions) for one in (x, x + step * z, z))
    for got in (here, there, between):
        shape(got, x.shape)
    submission.note([name_of(got.dtype) for got in (here, there, between)])
    for got in (here, there, between):
        if got.dtype != torch.float64:
            raise CheckFailed(
                f"The dtype of the output should be float64, as the input's, but it is {name_of(got.dtype)}."
            )
    kept = ((there - here) / step - between).abs().max() < 1e-3
    submission.note("all digits" if kept else "not all digits")
    if not kept:
        raise CheckFailed("A change of the input by 1e-9 is lost: float64 has 15 digits, and float32 has only 7.")


@check("gradients", points=0.25)
def test_gradient(submission: Submission, draw: Draw) -> None:
    """The gradient of the input is what comes from above, turned back by the same angles."""
    size = (*turns(submission, draw), T, 6)
    apply_rope, positions = submission.function("apply_rope"), torch.arange(T)
    x, upstream = draw.normal(*size, grad=True), draw.normal(*size)
    found = apply_rope.gradients(x, positions, upstream=upstream).inputs[0]
    if found is None:
        gradient(None, upstream, "the input")
    close(apply_rope(found, positions), upstream.double(), "the gradient of the input, turned forward again,")


@check("shape", points=0.25)
def test_any_shape(submission: Submission, draw: Draw) -> None:
    """One token, a batch of one, and a tensor that is not contiguous work like any other, with or without heads."""
    turns(submission, draw)
    apply_rope = submission.function("apply_rope")
    inputs = {
        "a sequence": pairs(draw, T),
        "one token": pairs(draw, 1),
        "a batch": pairs(draw, B, T),
        "a batch of one with one head and one token": pairs(draw, 1, 1, 1),
        "as many tokens as heads": pairs(draw, B, T, T),
        "heads that are cut from a wider tensor": pairs(draw, B, T, H).transpose(1, 2),
        "a transposed tensor": draw.normal(B, 2, T).mT,
        "five dimensions": pairs(draw, B, 2, H, T),
    }
    positions = [torch.arange(x.shape[-2]) for x in inputs.values()]
    got = [apply_rope(x, places) for x, places in zip(inputs.values(), positions, strict=True)]
    for (what, x), places, output in zip(inputs.items(), positions, got, strict=True):
        turned(output, x, places, f"the output for {what}")


@check("arguments", points=0.25)
def test_odd_width(submission: Submission, draw: Draw) -> None:
    """A width that is odd is refused with a `ValueError`."""
    leading, apply_rope = turns(submission, draw), submission.function("apply_rope")
    wrong = {f"a width of {d}": (draw.normal(*leading, T, d), torch.arange(T)) for d in (5, 1)}
    for what, error in refusals(submission, apply_rope, wrong).items():
        refuses(error, what)


@check("device", points=0.25)
def test_device(submission: Submission, draw: Draw) -> None:
    """The output lies on the device of the input, and nothing is made elsewhere (tried on `meta`)."""
    x = draw.normal(*turns(submission, draw), T, 6)
    on_meta(submission.function("apply_rope").on("meta", x, torch.arange(T)), x.shape)


@check("mode", points=0.25, witnessed=True)
def test_again(submission: Submission, draw: Draw) -> None:
    """The inputs stay as they were, and a second call depends on nothing but its own inputs."""
    leading, apply_rope, positions = turns(submission, draw), submission.function("apply_rope"), torch.arange(T)
    x, longer = draw.normal(*leading, T, 6), draw.normal(*leading, T + 3, 8)
    first = apply_rope(x, positions)
    unchanged(submission)
    apply_rope(longer, torch.arange(T + 3), 100.0)
    again = apply_rope(x, positions)
    shape(first, x.shape)
    close(again, first.double(), "the output of the second call")


@check("device", points=0)
def test_cuda(submission: Submission, draw: Draw) -> None:
    """On a GPU the output has the same values, in float32 and in float16."""
    on_cuda(submission)
    apply_rope = submission.function("apply_rope")
    for dtype in (torch.float32, torch.float16):
        x, positions = draw.normal(B, H, T, 6, dtype=dtype), torch.arange(2, 2 + T)
        got = apply_rope.on("cuda", x, positions)
        stayed_on_cuda(submission)
        close(got, modern.rope(x, positions), dtype=dtype)
