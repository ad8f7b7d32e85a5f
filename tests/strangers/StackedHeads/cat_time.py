# wrong: the heads are summed instead of concatenated
# expect: heads-summed
# also: heads-added
import torch
from torch import nn


class Head(nn.Module):
    def __init__(self, n_embd, head_size, block_size, dropout):
        super().__init__()
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)
        self.block_size = block_size
        self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)).bool())
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        b, t, c = x.shape
        if t > self.block_size:
            raise ValueError(f"{t} and {self.block_size}")
        s = self.query(x) @ self.key(x).mT / self.key.out_features**0.5
        s = s.masked_fill(~self.tril[:t, :t], -torch.inf)
        return self.dropout(s.softmax(-1)) @ self.value(x)


class StackedHeads(nn.Module):
    def __init__(self, num_heads, head_size, n_embd, block_size, dropout):
        super().__init__()
        self.heads = nn.ModuleList(Head(n_embd, head_size, block_size, dropout) for _ in range(num_heads))
        self.proj = nn.Linear(head_size, n_embd)

    def forward(self, x):
        total = sum(h(x) for h in self.heads)
        return self.proj(total)
