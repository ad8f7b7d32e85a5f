"""Heads on torch's own function, the projection made first."""

import torch
import torch.nn.functional as F
from torch import nn


class Head(nn.Module):
    def __init__(self, n_embd, head_size, block_size, dropout):
        super().__init__()
        self.value = nn.Linear(n_embd, head_size, bias=False)
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.register_buffer("tril", torch.ones(block_size, block_size, dtype=torch.bool).tril(), persistent=False)
        self.block_size, self.p = block_size, dropout

    def forward(self, x):
        if x.dim() != 3:
            raise ValueError("three dimensions, please")
        if x.shape[1] > self.block_size:
            raise ValueError(f"at most {self.block_size} tokens, not {x.shape[1]}")
        p = self.p if self.training else 0.0
        return F.scaled_dot_product_attention(self.query(x), self.key(x), self.value(x), is_causal=True, dropout_p=p)


class StackedHeads(nn.Module):
    def __init__(self, num_heads, head_size, n_embd, block_size, dropout):
        super().__init__()
        self.proj = nn.Linear(num_heads * head_size, n_embd, bias=True)
        self.heads = nn.ModuleList(Head(n_embd, head_size, block_size, dropout) for _ in range(num_heads))

    def forward(self, x):
        found = torch.stack([head(x) for head in self.heads], dim=2)
        return self.proj(found.flatten(2))
