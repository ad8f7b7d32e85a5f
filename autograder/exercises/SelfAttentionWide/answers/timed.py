"""Prints shapes and times as it goes, and names its tensors' shapes in annotations that are plain strings."""

import time

import torch
import torch.nn.functional as F
from torch import nn


class SelfAttentionWide(nn.Module):
    def __init__(self, k, n_heads=8):
        super().__init__()
        self.k, self.n_heads = k, n_heads
        self.tokeys = nn.Linear(k, k * n_heads, bias=False)
        self.toqueries = nn.Linear(k, k * n_heads, bias=False)
        self.tovalues = nn.Linear(k, k * n_heads, bias=False)
        self.unifyheads = nn.Linear(n_heads * k, k)

    def forward(self, x: 'Float[Tensor, "b t k"]') -> 'Float[Tensor, "b t k"]':  # noqa: F722, F821
        start = time.perf_counter()
        if x.ndim != 3:
            raise ValueError("a batch of sequences is needed, (b, t, k)")
        b, t, k = x.shape
        print("x:", tuple(x.shape))
        Q = self.toqueries(x).view(b, t, self.n_heads, k).transpose(1, 2)
        K = self.tokeys(x).view(b, t, self.n_heads, k).transpose(1, 2)
        V = self.tovalues(x).view(b, t, self.n_heads, k).transpose(1, 2)
        scores = torch.matmul(Q, K.transpose(-2, -1)) * (1.0 / k**0.5)
        print("scores:", tuple(scores.shape))
        weights = F.softmax(scores, dim=-1)
        found = torch.matmul(weights, V).transpose(1, 2).flatten(start_dim=2)
        out = self.unifyheads(found)
        print(f"{time.perf_counter() - start:.4f} s")
        return out
