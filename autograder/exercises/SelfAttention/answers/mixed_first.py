"""The tokens are mixed first and projected afterwards; the weights sum to 1, so a bias of the values stays as it is."""

from typing import Optional

import torch
import torch.nn as nn


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: Optional[bool] = False):  # noqa: UP045
        super().__init__()
        make = lambda: nn.Linear(d_in, d_out, bias=bool(qkv_bias))  # noqa: E731
        self.W_query, self.W_key, self.W_value = make(), make(), make()
        self.scale = 1.0 / d_out**0.5

    def forward(self, x: "float[... n d_in]") -> "float[... n d_out]":  # noqa: F722
        match x.dim():
            case 2 | 3:
                pass
            case rank:
                raise ValueError(f"x is of rank {rank}")
        logits = torch.einsum("...nd,...md->...nm", self.W_query(x), self.W_key(x)) * self.scale
        probabilities = torch.nn.Softmax(dim=-1)(logits)
        mixed = torch.einsum("...nm,...md->...nd", probabilities, x)
        return self.W_value(mixed)
