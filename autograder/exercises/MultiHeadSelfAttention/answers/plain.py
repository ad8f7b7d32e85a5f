"""unflatten, transpose, softmax."""

import torch.nn.functional as F
from torch import nn


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, k, h=4):
        super().__init__()
        if k % h:
            raise ValueError(f"k={k} cannot be shared by h={h}")
        self.k, self.h, self.s = k, h, k // h
        self.toqueries = nn.Linear(k, k, bias=False)
        self.tokeys = nn.Linear(k, k, bias=False)
        self.tovalues = nn.Linear(k, k, bias=False)
        self.unifyheads = nn.Linear(k, k)

    def forward(self, x):
        if x.dim() not in (2, 3):
            raise ValueError(f"{tuple(x.shape)} is neither (t, k) nor (b, t, k)")
        q, k, v = (
            f(x).unflatten(-1, (self.h, self.s)).transpose(-3, -2) for f in (self.toqueries, self.tokeys, self.tovalues)
        )
        weights = F.softmax(q @ k.transpose(-2, -1) / self.s**0.5, dim=-1)
        return self.unifyheads((weights @ v).transpose(-3, -2).flatten(-2))
