# wrong: only neads is corrected; heads is not stored, so forward stops with an AttributeError
# expect: heads-never-set
import torch
import torch.nn.functional as F
from torch import nn


class SelfAttentionWithTricks(nn.Module):
    def __init__(self, k, heads=8):
        super().__init__()
        self.k, self.nheads = k, heads
        self.tokeys = nn.Linear(k, k * heads, bias=False)
        self.toqueries = nn.Linear(k, k * heads, bias=False)
        self.tovalues = nn.Linear(k, k * heads, bias=False)
        self.unifyheads = nn.Linear(heads * k, k)

    def forward(self, x):
        b, t, k = x.size()
        h = self.heads
        queries = self.toqueries(x).view(b, t, h, k)
        keys = self.tokeys(x).view(b, t, h, k)
        values = self.tovalues(x).view(b, t, h, k)
        keys = keys.transpose(1, 2).contiguous().view(b * h, t, k)
        queries = queries.transpose(1, 2).contiguous().view(b * h, t, k)
        values = values.transpose(1, 2).contiguous().view(b * h, t, k)
        weights = F.softmax(torch.bmm(queries / k**0.25, keys.transpose(1, 2) / k**0.25), dim=2)
        out = torch.bmm(weights, values).view(b, h, t, k)
        return self.unifyheads(out.transpose(1, 2).contiguous().view(b, t, h * k))
