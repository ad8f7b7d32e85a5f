"""The original's three dimensions, mended, for every sequence of a batch."""

import torch
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

    def forward(self, X):
        if X.dim() == 3:
            return torch.stack([self.forward(one) for one in X])
        t, k = X.size()
        queries = self.toqueries(X).reshape(t, self.h, self.s).transpose(0, 1)
        keys = self.tokeys(X).reshape(t, self.h, self.s).transpose(0, 1)
        values = self.tovalues(X).reshape(t, self.h, self.s).transpose(0, 1)
        weights = F.softmax(torch.bmm(queries, keys.transpose(1, 2)) / (self.s ** (1 / 2)), dim=2)
        return self.unifyheads(torch.bmm(weights, values).transpose(0, 1).reshape(t, k))
