"""einsum, with the heads in the middle."""

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
        q, k, v = (layer(x).unflatten(2, (self.h, self.k)) for layer in (self.toqueries, self.tokeys, self.tovalues))
        weights = (torch.einsum("bihf,bjhf->bhij", q, k) * self.k**-0.5).softmax(3)
        return self.unifyheads(torch.einsum("bhij,bjhf->bihf", weights, v).flatten(2))
