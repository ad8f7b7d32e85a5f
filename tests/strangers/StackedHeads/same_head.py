# wrong: one head n times; the projection is without bias
# expect: the-same-head-many-times, projection-without-bias
import torch
import torch.nn.functional as F
from torch import nn


class Head(nn.Module):
    def __init__(self, n_embd, head_size, block_size, dropout):
        super().__init__()
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)
        self.block_size = block_size
        self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        _, T, _ = x.shape
        if T > self.block_size:
            raise ValueError(f"{T} > {self.block_size}")
        q, k = self.query(x), self.key(x)
        att = q @ k.transpose(1, 2) / k.shape[2] ** 0.5
        att = att.masked_fill(self.tril[:T, :T] == 0, float("-inf"))
        return self.dropout(F.softmax(att, dim=2)) @ self.value(x)


class StackedHeads(nn.Module):
    def __init__(self, num_heads, head_size, n_embd, block_size, dropout):
        super().__init__()
        self.heads = nn.ModuleList([Head(n_embd, head_size, block_size, dropout)] * num_heads)
        self.proj = nn.Linear(num_heads * head_size, n_embd, bias=False)

    def forward(self, x):
        outs = []
        for head in self.heads:
            outs.append(head(x))
        return self.proj(torch.cat(outs, dim=2))
