"""einsum with leading dots."""

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

    def forward(self, x):
        if x.dim() not in (2, 3):
            raise ValueError(f"{tuple(x.shape)} is neither (t, k) nor (b, t, k)")
        shape = (*x.shape[:-1], self.h, self.s)
        q, k, v = (f(x).reshape(shape) for f in (self.toqueries, self.tokeys, self.tovalues))
        weights = torch.einsum("...ihs,...jhs->...hij", q / self.s**0.5, k).softmax(-1)
        return self.unifyheads(torch.einsum("...hij,...jhs->...ihs", weights, v).reshape(x.shape))
