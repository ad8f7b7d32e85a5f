"""Type hints, helper functions, and padding as something to add; an empty row is told by its largest score."""

from __future__ import annotations

import torch
from torch import Tensor, nn

INF = float("inf")


def penalty(hidden: Tensor, like: Tensor) -> Tensor:
    return torch.zeros_like(hidden, dtype=like.dtype).masked_fill(hidden, -INF)


def safe_softmax(scores: Tensor) -> Tensor:
    largest = scores.detach().amax(-1, keepdim=True)
    empty = largest == -INF
    powers = torch.exp(scores - largest.masked_fill(empty, 0.0))
    return powers / powers.sum(-1, keepdim=True).masked_fill(empty, 1.0)


class CausalAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False) -> None:
        super().__init__()
        self.context_length = context_length
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(p=dropout)
        future = torch.ones(context_length, context_length, dtype=torch.bool).triu(diagonal=1)
        self.register_buffer("mask", future, persistent=False)

    def forward(self, x: Tensor["b n d_in"], padding_mask: Tensor["b n"] | None = None) -> Tensor["b n d_out"]:  # noqa: F722
        if x.dim() != 3:
            raise ValueError(f"x has the shape {list(x.shape)}, which is no batch")
        n = x.size(1)
        if n > self.context_length:
            raise ValueError(f"{n} > {self.context_length} = context_length")
        q, k, v = (layer(x) for layer in (self.W_query, self.W_key, self.W_value))
        scores = q @ k.mT / k.size(-1) ** 0.5 + penalty(self.mask[:n, :n], x)
        if padding_mask is not None:
            scores = scores + penalty(padding_mask.logical_not(), x)[:, None]
        return self.dropout(safe_softmax(scores)) @ v
