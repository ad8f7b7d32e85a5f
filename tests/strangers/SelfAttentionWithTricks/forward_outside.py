# wrong: the names are mended, but forward still stands outside the class
# expect: forward-outside-of-the-class
import torch
import torch.nn.functional as F
from torch import nn


class SelfAttentionWithTricks(nn.Module):
    def __init__(self, k, heads=8):
        super().__init__()
        self.k, self.heads = k, heads
        self.tokeys = nn.Linear(k, k * heads, bias=False)
        self.toqueries = nn.Linear(k, k * heads, bias=False)
        self.tovalues = nn.Linear(k, k * heads, bias=False)
        self.unifyheads = nn.Linear(heads * k, k)


def forward(self, x):
    b, t, k = x.size()
    h = self.heads
    queries = self.toqueries(x).view(b, t, h, k).transpose(1, 2)
    keys = self.tokeys(x).view(b, t, h, k).transpose(1, 2)
    values = self.tovalues(x).view(b, t, h, k).transpose(1, 2)
    weights = F.softmax(torch.matmul(queries, keys.transpose(2, 3)) / k**0.5, dim=-1)
    out = torch.matmul(weights, values).transpose(1, 2).contiguous().view(b, t, h * k)
    return self.unifyheads(out)
