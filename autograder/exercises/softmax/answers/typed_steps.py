"""Small helpers with type hints, whose annotations name the dimensions."""

from __future__ import annotations

import torch
from torch import Tensor

Scores = Tensor
MINUS_INFINITY: float = -torch.inf


def largest_of(scores: Scores, dim: int) -> Tensor:
    found: Tensor = scores.amax(dim, keepdim=True)
    return torch.nan_to_num(found, nan=float("nan"), posinf=float("inf"), neginf=0.0)


def powers_of(scores: Float[Tensor, "... s"], dim: int) -> Float[Tensor, "... s"]:  # noqa: F722, F821
    return (scores - largest_of(scores, dim)).exp()


def softmax(scores: Float[Tensor, "... s"], dim: int = -1) -> Float[Tensor, "... s"]:  # noqa: F722, F821
    assert isinstance(dim, int), "one dimension at a time"
    parts: Tensor = powers_of(scores, dim)
    total: Tensor = parts.sum(dim=dim, keepdim=True)
    return parts * torch.reciprocal(total + (total == 0).to(total.dtype))
