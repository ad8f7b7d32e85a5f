# wrong: only a batch works; scaled by the whole width; assert instead of ValueError
# expect: only-batches, scale-by-all-heads, assert-instead-of-an-error
# also: fact-fixed-rank
import torch
from torch import nn


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, k, h=4):
        super().__init__()
        assert k % h == 0, "k must be divisible by h"
        self.k, self.h = k, h
        self.toqueries = nn.Linear(k, k, bias=False)
        self.tokeys = nn.Linear(k, k, bias=False)
        self.tovalues = nn.Linear(k, k, bias=False)
        self.unifyheads = nn.Linear(k, k)

    def forward(self, x):
        b, t, k = x.shape
        s = k // self.h
        q = self.toqueries(x).view(b, t, self.h, s).transpose(1, 2)
        key = self.tokeys(x).view(b, t, self.h, s).transpose(1, 2)
        v = self.tovalues(x).view(b, t, self.h, s).transpose(1, 2)
        w = torch.softmax(q @ key.transpose(-1, -2) / self.k**0.5, dim=-1)
        return self.unifyheads((w @ v).transpose(1, 2).contiguous().view(b, t, k))
