"""One head after another, each with its slice of the features; no bias of the projection before the sum."""

import torch
from torch import nn


class SelfAttentionWide(nn.Module):
    def __init__(self, k, n_heads=8):
        super().__init__()
        self.k, self.h = k, n_heads
        self.tokeys = nn.Linear(k, k * n_heads, bias=False)
        self.toqueries = nn.Linear(k, k * n_heads, bias=False)
        self.tovalues = nn.Linear(k, k * n_heads, bias=False)
        self.unifyheads = nn.Linear(n_heads * k, k)

    def forward(self, x):
        if x.dim() != 3:
            raise ValueError(f"expected (b, t, k), got {tuple(x.shape)}")
        q, k, v = self.toqueries(x), self.tokeys(x), self.tovalues(x)
        result = self.unifyheads.bias
        for i in range(self.h):
            own = slice(i * self.k, (i + 1) * self.k)
            weights = torch.softmax(q[..., own] @ k[..., own].mT / self.k**0.5, -1)
            result = result + weights @ v[..., own] @ self.unifyheads.weight[:, own].T
        return result
