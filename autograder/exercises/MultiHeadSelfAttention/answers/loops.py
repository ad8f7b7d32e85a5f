"""A loop over sequences and over heads."""

import torch
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

    def one(self, x):
        heads = []
        for i in range(self.h):
            rows = slice(i * self.s, (i + 1) * self.s)
            q, k, v = (x @ f.weight[rows].T for f in (self.toqueries, self.tokeys, self.tovalues))
            scores = q @ k.T / self.s**0.5
            powers = (scores - scores.max(1, keepdim=True).values).exp()
            heads.append(powers / powers.sum(1, keepdim=True) @ v)
        return self.unifyheads(torch.cat(heads, dim=1))

    def forward(self, x):
        if x.dim() not in (2, 3):
            raise ValueError(f"{tuple(x.shape)} is neither (t, k) nor (b, t, k)")
        return self.one(x) if x.dim() == 2 else torch.stack([self.one(sequence) for sequence in x])
