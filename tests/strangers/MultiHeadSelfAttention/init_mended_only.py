# wrong: h is still overwritten by the width, so the reshape fails
# expect: number-of-heads-overwritten
# also: fast-head-index, no-batch, assert-instead-of-an-error, no-batch-unpacked
import torch
import torch.nn.functional as F
from torch import nn


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, k, h=4):
        super().__init__()
        assert k % h == 0
        self.k = k
        self.heads = h
        self.s = k // h
        self.toqueries = nn.Linear(k, k, bias=False)
        self.tokeys = nn.Linear(k, k, bias=False)
        self.tovalues = nn.Linear(k, k, bias=False)
        self.unifyheads = nn.Linear(k, k)

    def forward(self, x):
        t, h = x.size()
        queries = self.toqueries(x).reshape(t, self.s, h)
        keys = self.tokeys(x).reshape(t, self.s, h)
        values = self.tovalues(x).reshape(t, self.s, h)
        queries = queries.permute(2, 0, 1)
        keys = keys.permute(2, 0, 1)
        values = values.permute(2, 0, 1)
        weights = F.softmax(torch.bmm(queries, keys.transpose(1, 2)) / self.s**0.5, dim=2)
        out = torch.bmm(weights, values)
        return self.unifyheads(out.permute(1, 2, 0).reshape(t, self.k))
