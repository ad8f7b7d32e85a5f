"""A module for one head's attention inside, annotations with shapes in strings, asserts, and keyword arguments."""

from __future__ import annotations

from typing import Optional

import torch.nn as nn
from torch import Tensor


class ScaledDotProduct(nn.Module):
    def forward(self, query: Tensor, key: Tensor, value: Tensor, *, mask: Optional[Tensor] = None) -> Tensor:  # noqa: UP045
        scores: Float[Tensor, "b h t s"] = query @ key.transpose(-1, -2)  # noqa: F722, F821
        scores = scores.div(key.size(-1) ** 0.5)
        if mask is None:
            return scores.softmax(-1) @ value
        nothing_left = ~mask.any(dim=-1, keepdim=True)
        weights = scores.masked_fill(~(mask | nothing_left), float("-inf")).softmax(-1)
        return weights.masked_fill(nothing_left, 0.0) @ value


class MultiHeadCrossAttention(nn.Module):
    def __init__(self, d_query: int, d_context: int, d_out: int, num_heads: int, qkv_bias: bool = False) -> None:
        super().__init__()
        head_width, rest = divmod(d_out, num_heads)
        if rest != 0:
            raise ValueError(f"cannot cut d_out = {d_out} into {num_heads} heads")
        self.shape = (num_heads, head_width)
        self.W_query: nn.Linear = nn.Linear(d_query, d_out, bias=qkv_bias)
        self.W_key: nn.Linear = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.W_value: nn.Linear = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.out_proj: nn.Linear = nn.Linear(d_out, d_out, bias=True)
        self.attend = ScaledDotProduct()

    def forward(self, x: Tensor, context: Tensor, context_mask: Optional[Tensor] = None) -> Tensor:  # noqa: UP045
        for name, given, rank in (("x", x, 3), ("context", context, 3), ("context_mask", context_mask, 2)):
            if given is not None and given.ndim != rank:
                raise ValueError(f"{name}: expected {rank} dimensions, got {given.ndim}")
        query, key, value = (
            z.view(*z.shape[:2], *self.shape).movedim(2, 1)
            for z in (self.W_query(x), self.W_key(context), self.W_value(context))
        )
        mask = None if context_mask is None else context_mask.unsqueeze(1).unsqueeze(1)
        found = self.attend(query=query, key=key, value=value, mask=mask)
        assert found.shape[:2] == (x.shape[0], self.shape[0])
        return self.out_proj(found.movedim(1, 2).flatten(start_dim=2))
