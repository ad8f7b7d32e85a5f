"""Keys in rows and queries in columns throughout, turned back in the end; timed and printed."""

import time

import torch
import torch.nn.functional as F
from torch import nn

DEBUG = True


def log(*what):
    if DEBUG:
        print(f"[{time.strftime('%H:%M:%S')}]", *what)


class Head(nn.Module):
    def __init__(self, n_embd, head_size, block_size, dropout):
        super().__init__()
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)
        self.register_buffer("tril", torch.triu(torch.ones(block_size, block_size)))  # (keys, queries)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        if len(x.shape) - 3:
            raise ValueError("x: (batch, time, channels)")
        B, T, C = x.shape
        log("Head:", B, T, C)
        if T > len(self.tril):
            raise ValueError(f"T={T}, block_size={len(self.tril)}")
        scores = torch.einsum("bkd,bqd->bkq", self.key(x), self.query(x)) * self.key.weight.size(0) ** -0.5
        scores = scores.masked_fill(self.tril[:T, :T].logical_not(), float("-inf"))
        weights = self.dropout(F.softmax(scores, dim=-2))
        return torch.einsum("bkq,bkd->bqd", weights, self.value(x))
