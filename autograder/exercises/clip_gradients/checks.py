"""Checks of `clip_gradients(gradients, max_norm)`: a list of tensors or None -> a list of as many."""

from collections.abc import Sequence
from typing import Any

import torch

from ...checks.api import (
    CheckFailed,
    Draw,
    check,
    close,
    does_without,
    kind_of,
    name_of,
    on_cuda,
    shape,
    stayed_on_cuda,
    unchanged,
)
from ...checks.proxies import Submission
from ..reference import language

IN_FLOAT32 = 1e-5  # relative: the length may be summed up in float32, whatever the gradients' dtype
FORBIDDEN = ("clip_grad_norm_", "clip_grad_norm", "clip_grads_with_norm_", "get_total_norm")


def gradients_of(draw: Draw, dtype: torch.dtype = torch.float32, scale: float = 1.0) -> list[torch.Tensor]:
    """Gradients as a model has them, of several shapes."""
    return [draw.normal(*sizes, dtype=dtype, scale=scale) for sizes in ((4, 3), (3,), (2, 3, 2), (1,))]


def length_of(gradients: Sequence[torch.Tensor]) -> float:
    return torch.cat([g.double().flatten() for g in gradients if g is not None]).norm().item()


def right_for(submission: Submission, gradients: Sequence[torch.Tensor | None], max_norm: float, **how: Any) -> None:
    """Raises CheckFailed unless every gradient is as long as it should be, and there are as many."""
    got = submission.function("clip_gradients")(gradients, max_norm)
    expected = language.clipped(gradients, max_norm)
    if not isinstance(got, (list, tuple)):
        raise CheckFailed(f"It should return a list of gradients; what came is {kind_of(got)}.")
    if len(got) != len(expected):
        raise CheckFailed(f"Of {len(expected)} gradients, {len(got)} came back: a `None` keeps its place.")
    for number, (value, right) in enumerate(zip(got, expected, strict=True), 1):
        what = f"gradient {number} of {len(got)}"
        if right is None and value is not None:
            raise CheckFailed(f"A `None` should stay `None`, in its place; {what} is {kind_of(value)}.")
        if right is not None and value is None:
            raise CheckFailed(f"A gradient should come back for {what}; what came is `None`.")
        if right is not None:
            close(value, right, what, **how)


def shortens(submission: Submission, gradients: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
    """What came back for gradients that are too long. (How much shorter they are, a check of its own asks.)

    Raises CheckFailed unless they are shorter.
    """
    got = submission.function("clip_gradients")(gradients, 0.4 * length_of(gradients))
    if not isinstance(got, (list, tuple)) or not all(isinstance(one, torch.Tensor) for one in got):
        raise CheckFailed(f"It should return a list of gradients; what came is {kind_of(got)}.")
    if len(got) == 0:
        raise CheckFailed(f"Of {len(gradients)} gradients, none came back.")
    for one in got:
        shape(one, one.shape, "a gradient")
    if not length_of(got) < 0.99 * length_of(gradients):
        raise CheckFailed("Gradients that are too long together should become shorter.")
    return got


@check("values", points=0.5)
def test_long(submission: Submission, draw: Draw) -> None:
    """Gradients that are too long together are all shortened by one factor, to the length `max_norm`."""
    gradients = gradients_of(draw)
    right_for(submission, gradients, 0.2 * length_of(gradients))
    # each of them alone is shorter than the limit, and together they are longer
    even = [draw.normal(9, scale=0.1) for _ in range(6)]
    right_for(submission, even, 0.7 * length_of(even))


@check("values", points=0.5)
def test_short(submission: Submission, draw: Draw) -> None:
    """Gradients that are not too long stay as they are, and so do those that are all 0."""
    gradients = gradients_of(draw, scale=0.01)
    right_for(submission, gradients, 3 * length_of(gradients))
    right_for(submission, [torch.zeros(3), torch.zeros(2, 2)], 1.0)
    shortens(submission, gradients)


@check("values", points=0.5)
def test_none(submission: Submission, draw: Draw) -> None:
    """A parameter without a gradient has `None`, which stays in its place; a list may hold nothing else."""
    gradient = gradients_of(draw)[0]
    right_for(submission, [None, gradient, None], 0.3 * length_of([gradient]))
    right_for(submission, [None, None], 1.0)


@check("numerics", points=0.5)
def test_as_they_came(submission: Submission, draw: Draw) -> None:
    """A list comes back, what comes in is not changed, dtypes stay, and torch's own clipping is not used."""
    does_without(submission, "clip_gradients", FORBIDDEN)
    gradients = gradients_of(draw)
    got = shortens(submission, gradients)
    unchanged(submission)
    if not isinstance(got, list):
        raise CheckFailed(f"It should return a list of gradients; what came is {kind_of(got)}.")
    for dtype, scale in ((torch.bfloat16, 1.0), (torch.float16, 100.0)):
        gradient = gradients_of(draw, dtype, scale)[0]
        right_for(submission, [gradient], 0.4 * length_of([gradient]), dtype=dtype)
    mixed = [gradients_of(draw)[0].to(dtype) for dtype in (torch.float32, torch.float64, torch.float16)]
    for one, came in zip(shortens(submission, mixed), mixed, strict=False):
        if one.dtype != came.dtype:
            raise CheckFailed(f"A gradient in {name_of(came.dtype)} came back in {name_of(one.dtype)}.")
    exact = gradients_of(draw, torch.float64, 1e-3)[0]  # so short that a millionth added to the length shows
    right_for(submission, [exact], 3 * length_of([exact]), dtype=torch.float64)
    right_for(submission, [exact], 0.4 * length_of([exact]), dtype=torch.float64, tolerance=IN_FLOAT32)


@check("device", points=0)
def test_cuda(submission: Submission, draw: Draw) -> None:
    """On a GPU the gradients are the same, and stay there."""
    on_cuda(submission)
    gradients = gradients_of(draw)
    got = submission.function("clip_gradients").on("cuda", gradients, 0.5)
    for value, right in zip(got, language.clipped(gradients, 0.5), strict=True):
        assert right is not None  # none of these is without a gradient
        close(value, right, "the gradients")
    stayed_on_cuda(submission, "The gradients are", "where they came from")
