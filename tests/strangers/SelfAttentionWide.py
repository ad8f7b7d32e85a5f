# %% indent_mended: module and indentation are mended, keys and values still come from queries and are scrambled
# expect: crashes-mended
# also: keys-and-values-from-queries, folded-twice
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
        queries = self.toqueries(x).view(b, t, h, k)  # (b, t, h*k) -> (b, t, h, k)
        keys = self.tokeys(x).view(b, t, h, k)  # (b, t, h*k) -> (b, t, h, k)
        values = self.tovalues(x).view(b, t, h, k)  # (b, t, h*k) -> (b, t, h, k)

        # heads join the batch: (b*h, t, k)
        queries = queries.transpose(1, 2).contiguous().view(b * h, t, k)
        keys = queries.transpose(1, 2).contiguous().view(b * h, t, k)
        values = queries.transpose(1, 2).contiguous().view(b * h, t, k)

        queries = queries / (k ** (1 / 4))
        keys = keys / (k ** (1 / 4))
        scores = torch.bmm(queries, keys.transpose(1, 2))  # (b*h, t, t)
        weights = F.softmax(scores, dim=2)  # (b*h, t, t)
        out = torch.bmm(weights, values).view(b, h, t, k)  # (b, h, t, k)
        out = out.transpose(1, 2).contiguous().view(b, t, h * k)  # (b, t, h*k)
        return self.unifyheads(out)

# %% module_only: nn.Module is mended, forward is still inside __init__
# expect: forward-inside-init
import torch
import torch.nn.functional as F
from torch import nn


class SelfAttentionWide(nn.Module):
    def __init__(self, k, n_heads=8):
        super().__init__()
        self.k, self.n_heads = k, n_heads
        self.tokeys = nn.Linear(k, k * n_heads, bias=False)
        self.toqueries = nn.Linear(k, k * n_heads, bias=False)
        self.tovalues = nn.Linear(k, k * n_heads, bias=False)
        self.unifyheads = nn.Linear(n_heads * k, k)

        def forward(self, x):
            b, t, k = x.size()
            h = self.n_heads
            q = self.toqueries(x).view(b, t, h, k).transpose(1, 2)
            key = self.tokeys(x).view(b, t, h, k).transpose(1, 2)
            v = self.tovalues(x).view(b, t, h, k).transpose(1, 2)
            w = F.softmax(q @ key.transpose(-2, -1) / k**0.5, dim=-1)
            return self.unifyheads((w @ v).transpose(1, 2).reshape(b, t, h * k))

# %% queries_copied: keys and values are still made from the queries; the rest of the original is mended
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

# %% view_straight: cut into heads by view(b, h, t, k) without a transpose; merged without one too
# expect: reshaped-both-ways
# also: reshaped-in-one-step, merged-without-transposing
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
        queries = self.toqueries(x).view(b, h, t, k)
        keys = self.tokeys(x).view(b, h, t, k)
        values = self.tovalues(x).view(b, h, t, k)
        dots = torch.einsum("bhik,bhjk->bhij", queries, keys) / k**0.5
        out = torch.einsum("bhij,bhjk->bhik", F.softmax(dots, dim=-1), values)
        return self.unifyheads(out.reshape(b, t, h * k))
