"""Functions of their own for each step, with type hints; the scale on both factors."""

import math

import torch
from torch import Tensor, nn


def split_heads(z: Tensor, h: int) -> Tensor:
    """(b, t, h·k) -> (b, h, t, k)."""
    b, t, width = z.shape
    return z.reshape(b, t, h, width // h).permute(0, 2, 1, 3)


def join_heads(z: Tensor) -> Tensor:
    """(b, h, t, k) -> (b, t, h·k)."""
    b, h, t, k = z.shape
    return z.permute(0, 2, 1, 3).reshape(b, t, h * k)


def softmax_rows(scores: Tensor) -> Tensor:
    powers = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
    return powers / powers.sum(dim=-1, keepdim=True)


class SelfAttentionWithTricks(nn.Module):
    def __init__(self, k: int, heads: int = 8) -> None:
        super().__init__()
        self.h, self.root = heads, math.sqrt(math.sqrt(k))
        self.tokeys = nn.Linear(k, k * heads, bias=False)
        self.toqueries = nn.Linear(k, k * heads, bias=False)
        self.tovalues = nn.Linear(k, k * heads, bias=False)
        self.unifyheads = nn.Linear(heads * k, k)

    def forward(self, x: Tensor) -> Tensor:
        if x.dim() != 3:
            raise ValueError(f"expected (b, t, k), got {tuple(x.shape)}")
        q = split_heads(self.toqueries(x), self.h) / self.root
        k = split_heads(self.tokeys(x), self.h) / self.root
        v = split_heads(self.tovalues(x), self.h)
        return self.unifyheads(join_heads(softmax_rows(q @ k.mT) @ v))
