"""Shapes in annotations that are plain strings, every size named, einsum with `...`."""

import math

import torch
from torch import nn


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, k: int, h: int = 4):
        super().__init__()
        if k % h != 0:
            raise ValueError(f"the width {k} is not divisible by the number of heads {h}")
        self.heads, self.width = h, k // h
        self.toqueries, self.tokeys, self.tovalues = (nn.Linear(k, k, bias=False) for _ in range(3))
        self.unifyheads = nn.Linear(k, k, bias=True)

    def cut(self, z: 'Float[Tensor, "... t k"]') -> 'Float[Tensor, "... t h s"]':  # noqa: F722, F821
        return z.view(*z.shape[:-1], self.heads, self.width)

    def forward(self, x: 'Float[Tensor, "*b t k"]') -> 'Float[Tensor, "*b t k"]':  # noqa: F722, F821
        if x.ndim < 2 or x.ndim > 3:
            raise ValueError(f"a sequence or a batch of sequences is needed, not {x.ndim} dimensions")
        queries, keys, values = self.cut(self.toqueries(x)), self.cut(self.tokeys(x)), self.cut(self.tovalues(x))
        scores = torch.einsum("...qhs,...khs->...hqk", queries, keys).div(math.sqrt(self.width))
        found = torch.einsum("...hqk,...khs->...qhs", scores.softmax(dim=-1), values)
        return self.unifyheads(torch.flatten(found, start_dim=-2))
