# wrong: a Python list instead of a ModuleList; no projection at all
# expect: plain-list, no-output-projection
# also: rank-not-checked
import torch
import torch.nn.functional as F
from torch import nn


class Head(nn.Module):
    def __init__(self, n_embd, head_size, block_size, dropout):
        super().__init__()
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)
        self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        T = x.shape[1]
        if T > self.tril.shape[0]:
            raise ValueError(f"{T} tokens, at most {self.tril.shape[0]}")
        k, q, v = self.key(x), self.query(x), self.value(x)
        wei = q @ k.transpose(-2, -1) * k.shape[-1] ** -0.5
        wei = F.softmax(wei.masked_fill(self.tril[:T, :T] == 0, float("-inf")), dim=-1)
        return self.dropout(wei) @ v


class StackedHeads(nn.Module):
    def __init__(self, num_heads, head_size, n_embd, block_size, dropout):
        super().__init__()
        self.heads = [Head(n_embd, head_size, block_size, dropout) for _ in range(num_heads)]

    def forward(self, x):
        return torch.cat([h(x) for h in self.heads], dim=-1)
