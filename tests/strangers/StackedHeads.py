# %% cat_time: the heads are summed instead of concatenated
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

# %% in_sequence: dropout after the projection as well; the head scales by the embedding's width
# expect: dropout-on-the-output-as-well, scale-by-embedding-width
# also: stands-on-Head
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
        B, T, C = x.shape
        if T > self.block_size:
            raise ValueError(f"{T} tokens in a context of {self.block_size}")
        wei = self.query(x) @ self.key(x).transpose(-2, -1) * C**-0.5
        wei = wei.masked_fill(self.tril[:T, :T] == 0, float("-inf"))
        wei = self.dropout(F.softmax(wei, dim=-1))
        return wei @ self.value(x)


class StackedHeads(nn.Module):
    def __init__(self, num_heads, head_size, n_embd, block_size, dropout):
        super().__init__()
        self.heads = nn.ModuleList([Head(n_embd, head_size, block_size, dropout) for _ in range(num_heads)])
        self.proj = nn.Linear(num_heads * head_size, n_embd)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        out = torch.cat([h(x) for h in self.heads], dim=-1)
        return self.dropout(self.proj(out))

# %% python_list: a Python list instead of a ModuleList; no projection at all
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

# %% same_head: one head n times; the projection is without bias
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
