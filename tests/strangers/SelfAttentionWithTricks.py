# %% forward_outside: the names are mended, but forward still stands outside the class
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

# %% nheads_mixed: only neads is corrected; heads is not stored, so forward stops with an AttributeError
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

# %% scaled_twice_wrong: queries and keys are divided by the whole root each, so the scores are divided by k; no bias in unifyheads
# expect: scale-without-root, output-projection-without-bias
import torch
import torch.nn.functional as F
from torch import nn


class SelfAttentionWithTricks(nn.Module):
    def __init__(self, k, heads=8):
        super().__init__()
        self.k = k
        self.heads = heads
        self.tokeys = nn.Linear(k, k * heads, bias=False)
        self.toqueries = nn.Linear(k, k * heads, bias=False)
        self.tovalues = nn.Linear(k, k * heads, bias=False)
        self.unifyheads = nn.Linear(heads * k, k, bias=False)

    def forward(self, x):
        b, t, k = x.size()
        h = self.heads
        queries = self.toqueries(x).view(b, t, h, k).transpose(1, 2).contiguous().view(b * h, t, k)
        keys = self.tokeys(x).view(b, t, h, k).transpose(1, 2).contiguous().view(b * h, t, k)
        values = self.tovalues(x).view(b, t, h, k).transpose(1, 2).contiguous().view(b * h, t, k)
        queries = queries / (k ** (1 / 2))
        keys = keys / (k ** (1 / 2))
        weights = F.softmax(torch.bmm(queries, keys.transpose(1, 2)), dim=2)
        out = torch.bmm(weights, values).view(b, h, t, k)
        return self.unifyheads(out.transpose(1, 2).contiguous().view(b, t, h * k))
