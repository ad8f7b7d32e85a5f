"""Type hints, shapes as plain strings in the annotations, and each step a helper function of its own."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn


def scores(q: Tensor["t k"], k: Tensor["t k"]) -> Tensor["t t"]:  # noqa: F722
    return torch.einsum("qd,kd->qk", q, k).div(math.sqrt(q.size(-1)))


def normalise(s: Tensor["t t"]) -> Tensor["t t"]:  # noqa: F722
    return torch.exp(s - torch.logsumexp(s, dim=-1, keepdim=True))


class SingleHeadSelfAttention(nn.Module):
    toqueries: nn.Linear
    tokeys: nn.Linear
    tovalues: nn.Linear

    def __init__(self, k: int) -> None:
        super().__init__()
        for name in type(self).__annotations__:
            setattr(self, name, nn.Linear(k, k, bias=False))

    def forward(self, x: Tensor["t k"]) -> Tensor["t k"]:  # noqa: F722
        if x.ndim != 2:
            raise ValueError(f"one sequence of shape (t, k) is expected, not {tuple(x.shape)}")
        q, k, v = self.toqueries(x), self.tokeys(x), self.tovalues(x)
        return normalise(scores(q, k)) @ v
