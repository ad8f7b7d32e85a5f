# wrong: a projection and batches are added, the head is still the fast axis; no ValueError for indivisible widths
# expect: fast-head-index, indivisible-floored
import torch
import torch.nn.functional as F
from torch import nn


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, k, h=4):
        super().__init__()
        self.k = k
        self.heads = h
        self.s = k // h
        self.toqueries = nn.Linear(k, k, bias=False)
        self.tokeys = nn.Linear(k, k, bias=False)
        self.tovalues = nn.Linear(k, k, bias=False)
        self.unifyheads = nn.Linear(k, k)

    def forward(self, x):
        single = x.dim() == 2
        if single:
            x = x.unsqueeze(0)
        b, t, _ = x.size()

        def split(y):
            return y.reshape(b, t, self.s, self.heads).permute(0, 3, 1, 2)

        q, k, v = split(self.toqueries(x)), split(self.tokeys(x)), split(self.tovalues(x))
        w = F.softmax(q @ k.transpose(2, 3) / self.s**0.5, dim=-1)
        out = (w @ v).permute(0, 2, 3, 1).reshape(b, t, self.k)
        out = self.unifyheads(out)
        return out[0] if single else out
