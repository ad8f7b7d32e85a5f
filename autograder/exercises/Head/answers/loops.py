"""One sequence and one query at a time: the past alone takes part, so no mask is needed."""

import torch
from torch import nn


class Head(nn.Module):
    def __init__(self, n_embd, head_size, block_size, dropout):
        super().__init__()
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)
        self.register_buffer("tril", None)
        self.dropout = nn.Dropout(dropout)
        self.most = block_size

    def one(self, x):
        q, k, v = self.query(x), self.key(x), self.value(x)
        rows = []
        for i in range(len(x)):
            weights = (k[: i + 1] @ q[i] / k.shape[1] ** 0.5).softmax(0)
            rows.append(self.dropout(weights) @ v[: i + 1])
        return torch.stack(rows)

    def forward(self, x):
        if x.dim() != 3:
            raise ValueError("expected three dimensions")
        if x.shape[1] > self.most:
            raise ValueError(f"got {x.shape[1]} tokens, expected at most {self.most}")
        return torch.stack([self.one(sequence) for sequence in x])
