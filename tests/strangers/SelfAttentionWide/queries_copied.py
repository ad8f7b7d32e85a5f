# wrong: keys and values are still made from the queries; the rest of the original is mended
# expect: keys-and-values-from-queries
# also: keys-from-queries, values-from-queries
import torch
import torch.nn.functional as F
from torch import nn


class SelfAttentionWide(nn.Module):
    def __init__(self, k, n_heads=8):
        super().__init__()
        self.k = k
        self.n_heads = n_heads
        self.tokeys = nn.Linear(k, k * n_heads, bias=False)
        self.toqueries = nn.Linear(k, k * n_heads, bias=False)
        self.tovalues = nn.Linear(k, k * n_heads, bias=False)
        self.unifyheads = nn.Linear(n_heads * k, k)

    def forward(self, x):
        b, t, k = x.size()
        h = self.n_heads
        queries = self.toqueries(x).view(b, t, h, k)
        keys = self.tokeys(x).view(b, t, h, k)
        values = self.tovalues(x).view(b, t, h, k)

        queries = queries.transpose(1, 2).contiguous().view(b * h, t, k)
        keys = queries
        values = queries

        queries = queries / (k ** (1 / 4))
        keys = keys / (k ** (1 / 4))
        scores = torch.bmm(queries, keys.transpose(1, 2))
        weights = F.softmax(scores, dim=2)
        out = torch.bmm(weights, values).view(b, h, t, k)
        out = out.transpose(1, 2).contiguous().view(b, t, h * k)
        return self.unifyheads(out)
