# wrong: tril is a plain attribute, not a buffer; no dropout at all
# expect: mask-not-moved, dropout-missing
import math

import torch
from torch import nn


class Head(nn.Module):
    def __init__(self, n_embd, head_size, block_size, dropout):
        super().__init__()
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)
        self.block_size = block_size
        self.tril = torch.tril(torch.ones(block_size, block_size))

    def forward(self, x):
        b, t, c = x.shape
        if t > self.block_size:
            raise ValueError(f"sequence of {t} tokens, but the context is {self.block_size}")
        q = self.query(x)
        k = self.key(x)
        v = self.value(x)
        scores = torch.bmm(q, k.transpose(1, 2)) / math.sqrt(k.shape[-1])
        scores = scores.masked_fill(self.tril[:t, :t] == 0, -math.inf)
        return torch.bmm(torch.softmax(scores, dim=-1), v)
