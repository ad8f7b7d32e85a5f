"""`torch.compile` over what a head does with its three tensors; heads joined by stack and flatten."""

import torch
import torch.nn.functional as F
from torch import nn


@torch.compile(dynamic=True)
def weigh(q, k, allowed):
    scores = torch.matmul(q, k.mT) / k.size(-1) ** 0.5
    return F.softmax(scores.masked_fill(~allowed, float("-inf")), dim=-1)


class Head(nn.Module):
    def __init__(self, n_embd, head_size, block_size, dropout):
        super().__init__()
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)
        self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)).bool())
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        b, t, _ = x.size()
        if t > self.tril.size(0):
            raise ValueError(f"sequence of {t}, block of {self.tril.size(0)}")
        weights = weigh(self.query(x), self.key(x), self.tril[:t, :t])
        return torch.matmul(self.dropout(weights), self.value(x))


class StackedHeads(nn.Module):
    def __init__(self, num_heads, head_size, n_embd, block_size, dropout):
        super().__init__()
        self.heads = nn.ModuleList()
        for _ in range(num_heads):
            self.heads.append(Head(n_embd, head_size, block_size, dropout))
        self.proj = nn.Linear(num_heads * head_size, n_embd)

    def forward(self, x):
        return self.proj(torch.stack([head(x) for head in self.heads], dim=2).flatten(2))
