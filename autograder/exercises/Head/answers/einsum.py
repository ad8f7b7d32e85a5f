"""einsum; a buffer that is True for the future and is not saved; F.dropout."""

import math

import torch
import torch.nn.functional as F
from torch import nn


class Head(nn.Module):
    def __init__(self, n_embd, head_size, block_size, dropout):
        super().__init__()
        self.value = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.register_buffer("tril", torch.ones(1, block_size, block_size).bool().triu(1), persistent=False)
        self.p = dropout
        self.block_size = block_size

    def forward(self, x):
        if x.ndim != 3:
            raise ValueError("a batch of sequences, please")
        t = x.size(1)
        if t > self.block_size:
            raise ValueError(f"{t} > {self.block_size}")
        q, k, v = self.query(x), self.key(x), self.value(x)
        scores = torch.einsum("bid,bjd->bij", q, k) / math.sqrt(k.shape[-1])
        scores = scores.masked_fill(self.tril[:, :t, :t], -torch.inf)
        weights = F.dropout(scores.softmax(-1), p=self.p, training=self.training)
        return torch.einsum("bij,bjd->bid", weights, v)
