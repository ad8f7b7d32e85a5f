# wrong: the head is the fast axis; no output projection; a batch does not work: only what crashed is mended
# expect: crashes-mended
# also: no-output-projection, fast-head-index, no-batch, assert-instead-of-an-error
import torch
import torch.nn.functional as F
from torch import nn


class MultiHeadSelfAttention(nn.Module):
    """Multi-head attention with narrow heads: (t, k) -> (t, k)."""

    def __init__(self, k, h=4):
        super().__init__()
        assert k % h == 0
        self.k = k
        self.heads = h
        self.s = k // h
        self.toqueries = nn.Linear(k, k, bias=False)
        self.tokeys = nn.Linear(k, k, bias=False)
        self.tovalues = nn.Linear(k, k, bias=False)

    def forward(self, x):
        t, k = x.size()
        h = self.heads
        queries = self.toqueries(x).reshape(t, self.s, h)
        keys = self.tokeys(x).reshape(t, self.s, h)
        values = self.tovalues(x).reshape(t, self.s, h)

        # heads to the front: (h, t, s)
        queries = queries.transpose(1, 2).transpose(0, 1)
        keys = keys.transpose(1, 2).transpose(0, 1)
        values = values.transpose(1, 2).transpose(0, 1)

        scores = torch.bmm(queries, keys.transpose(1, 2)) / self.s**0.5
        weights = F.softmax(scores, dim=2)
        out = torch.bmm(weights, values)
        return out.transpose(0, 1).transpose(1, 2).reshape(t, self.s * h)
