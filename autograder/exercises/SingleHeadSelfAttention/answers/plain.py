"""@, T and the softmax method."""

import math

from torch import nn


class SingleHeadSelfAttention(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.k = k
        self.toqueries = nn.Linear(k, k, bias=False)
        self.tokeys = nn.Linear(k, k, bias=False)
        self.tovalues = nn.Linear(k, k, bias=False)

    def forward(self, X):
        if X.dim() != 2:
            raise ValueError(f"expected (t, k), got {tuple(X.shape)}")
        weights = (self.toqueries(X) @ self.tokeys(X).T / math.sqrt(self.k)).softmax(dim=-1)
        return weights @ self.tovalues(X)
