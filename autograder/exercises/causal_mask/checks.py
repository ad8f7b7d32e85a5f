"""Checks of `causal_mask(t, device=None)`: (t, t), boolean, True on and below the diagonal.

What a slip in the triangle costs, it costs once: checks about something else start with `a_triangle`.
"""

import torch

from ...checks.api import (
    CheckFailed,
    Draw,
    boolean,
    check,
    gate,
    on_cuda,
    on_meta,
    pattern,
    shape,
    stayed_on_cuda,
    tensor,
)
from ...checks.proxies import Proxy, Submission
from ..reference import causal

T = 5


def some_triangles(t: int) -> torch.Tensor:
    """(12, t, t): both triangles with one diagonal more or less, and what these masks hide."""
    whole = torch.ones(t, t, dtype=torch.bool)
    below = torch.stack([whole.tril(k) for k in (-1, 0, 1)] + [whole.triu(k) for k in (-1, 0, 1)])
    return torch.cat([below, ~below])


@gate()
def a_triangle(submission: Submission) -> tuple[Proxy, torch.Tensor]:
    """The function and its mask of T tokens, in which one triangle is told from the other, whichever is seen."""
    causal_mask = submission.function("causal_mask")
    mask = tensor(causal_mask(T), "the mask")
    square = mask.reshape(mask.shape[-2:]) if mask.numel() == T * T and mask.dim() > 1 else mask
    shape(square, (T, T), "the mask")
    if not (some_triangles(T) == (square != 0)).all(-1).all(-1).any():
        raise CheckFailed("The mask does not tell the past from the future.")
    return causal_mask, mask


@check("values", points=0.5)
def test_who_may_attend(submission: Submission, draw: Draw) -> None:
    """Each token may attend to itself and to the tokens before it, and to none after it: True = may attend."""
    t = draw.integer(T, 9)
    pattern(submission.function("causal_mask")(t), causal.causal_mask(t))


@check("shape", points=0.5)
def test_any_size(submission: Submission, draw: Draw) -> None:
    """The mask has the shape (t, t), for one token as for many, and each call goes by its own t."""
    causal_mask, sizes = submission.function("causal_mask"), (2, 1, 33, 3, draw.integer(65, 130), 16)
    for t, got in [(t, causal_mask(t)) for t in sizes]:
        pattern(got, causal.causal_mask(t), f"the mask for t = {t}")


@check("values", points=0.5)
def test_boolean(submission: Submission) -> None:
    """The mask holds booleans, not numbers."""
    _, mask = a_triangle(submission)
    boolean(mask, mask != 0)


@check("device", points=0.5)
def test_device(submission: Submission) -> None:
    """The mask lies on the device that is asked for, and nothing is computed across two devices (tried on `meta`)."""
    causal_mask, mask = a_triangle(submission)
    pattern(causal_mask(T, "cpu"), mask != 0)
    on_meta(causal_mask.on("meta", T, "meta"), mask.shape, "the mask")


@check("device", points=0)
def test_cuda(submission: Submission, draw: Draw) -> None:
    """On a GPU the mask is the same."""
    on_cuda(submission)
    got = submission.function("causal_mask").on("cuda", T, "cuda")
    pattern(got, causal.causal_mask(T))
    stayed_on_cuda(submission, "The mask is", "though it was asked for there")
