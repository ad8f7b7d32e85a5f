# wrong: the mask is not cut to the sequence; no ValueError for long ones
# expect: mask-not-cut
# also: too-long-not-refused, rank-not-checked
import torch
import torch.nn.functional as F
from torch import nn


class Head(nn.Module):
    def __init__(self, n_embd, head_size, block_size, dropout):
        super().__init__()
        self.head_size = head_size
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)
        self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        q, k, v = self.query(x), self.key(x), self.value(x)
        att = (q @ k.transpose(1, 2)) * self.head_size**-0.5
        att = att.masked_fill(self.tril == 0, float("-inf"))
        return self.dropout(F.softmax(att, dim=-1)) @ v
