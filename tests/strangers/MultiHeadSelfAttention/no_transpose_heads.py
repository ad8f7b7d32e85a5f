# wrong: attention between the heads of one token: the head axis is not moved to the front
# expect: ?
# also: rank-not-checked
import torch
import torch.nn.functional as F
from torch import nn


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, k, h=4):
        super().__init__()
        if k % h:
            raise ValueError(f"k = {k} is not divisible by h = {h}")
        self.heads, self.s = h, k // h
        self.toqueries = nn.Linear(k, k, bias=False)
        self.tokeys = nn.Linear(k, k, bias=False)
        self.tovalues = nn.Linear(k, k, bias=False)
        self.unifyheads = nn.Linear(k, k)

    def forward(self, x):
        new_shape = x.shape[:-1] + (self.heads, self.s)
        q = self.toqueries(x).view(new_shape)
        k = self.tokeys(x).view(new_shape)
        v = self.tovalues(x).view(new_shape)
        w = F.softmax(q @ k.transpose(-1, -2) / self.s**0.5, dim=-1)
        return self.unifyheads((w @ v).reshape(x.shape))
