"""A dataclass for what a step finds, type hints, a class of errors of its own, and einsum with `...`."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn as nn


class ShapeError(ValueError):
    """v or q is no batch of sequences."""


@dataclass
class Found:
    summary: Float[torch.Tensor, "b d"]  # noqa: F722, F821
    weights: Float[torch.Tensor, "b s"]  # noqa: F722, F821


class Step(nn.Module):
    def __init__(self, d: int, k: int) -> None:
        super().__init__()
        self.W_x: nn.Linear = nn.Linear(d, k, bias=False)
        self.W_g: nn.Linear = nn.Linear(d, k, bias=False)
        self.w_hx: nn.Linear = nn.Linear(k, 1, bias=False)

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None, g: torch.Tensor | None = None) -> Found:
        guide = self.W_g(g)[:, None, :] if g is not None else 0.0
        logits = torch.einsum("...sk,k->...s", torch.tanh(self.W_x(x) + guide), self.w_hx.weight[0])
        if mask is not None:
            logits = torch.where(mask, logits, -torch.inf)
            logits = torch.where(mask.any(-1, keepdim=True), logits, 0.0)  # a row of nothing but -inf would give NaN
        weights = logits.softmax(-1)
        if mask is not None:
            weights = torch.where(mask, weights, 0.0)
        return Found(torch.einsum("...s,...sd->...d", weights, x), weights)


class AlternatingCoAttention(nn.Module):
    def __init__(self, d: int, k: int) -> None:
        super().__init__()
        self.steps = nn.ModuleList(Step(d, k) for _ in range(3))

    def forward(
        self,
        v: torch.Tensor,
        q: torch.Tensor,
        v_mask: torch.Tensor | None = None,
        q_mask: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, ...]:
        for name, tensor in {"v": v, "q": q}.items():
            if tensor.ndim != 3:
                raise ShapeError(f"{name} has {tensor.ndim} dimensions")
        question = self.steps[0](q, q_mask)
        image = self.steps[1](v, v_mask, question.summary)
        question = self.steps[2](q, q_mask, image.summary)
        return image.summary, question.summary, image.weights, question.weights
