# %% batch_only: only a batch works; scaled by the whole width; assert instead of ValueError
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

# %% crashes_mended: the head is the fast axis; no output projection; a batch does not work: only what crashed is mended
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

# %% fast_axis_projection: a projection and batches are added, the head is still the fast axis; no ValueError for indivisible widths
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

# %% heads_averaged: each head is as the others and their outputs are averaged; python loop; values are the inputs
# expect: heads-averaged, indivisible-floored, ?
# also: rank-not-checked
import torch
from torch import nn


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, k, h=4):
        super().__init__()
        self.h = h
        self.toqueries = nn.Linear(k, k, bias=False)
        self.tokeys = nn.Linear(k, k, bias=False)
        self.tovalues = nn.Linear(k, k, bias=False)
        self.unifyheads = nn.Linear(k, k)

    def forward(self, x):
        s = x.shape[-1] // self.h
        out = 0
        for i in range(self.h):
            q = self.toqueries(x)[..., i * s : (i + 1) * s]
            k = self.tokeys(x)[..., i * s : (i + 1) * s]
            w = torch.softmax(q @ k.transpose(-2, -1) / s**0.5, dim=-1)
            out = out + w @ x
        return self.unifyheads(out / self.h)

# %% init_mended_only: h is still overwritten by the width, so the reshape fails
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

# %% merge_forgotten: merged without transposing back
# expect: merged-without-transposing
import torch
from torch import nn


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, k, h=4):
        super().__init__()
        if k % h != 0:
            raise ValueError(f"{k} features can't be cut into {h} heads")
        self.h = h
        self.s = k // h
        self.toqueries = nn.Linear(k, k, bias=False)
        self.tokeys = nn.Linear(k, k, bias=False)
        self.tovalues = nn.Linear(k, k, bias=False)
        self.unifyheads = nn.Linear(k, k)

    def forward(self, x):
        if x.dim() not in (2, 3):
            raise ValueError("(t, k) or (b, t, k), please")
        shape = x.shape
        x = x.reshape(-1, shape[-2], shape[-1])
        b, t, k = x.shape
        Q = self.toqueries(x).reshape(b, t, self.h, self.s).transpose(1, 2)
        K = self.tokeys(x).reshape(b, t, self.h, self.s).transpose(1, 2)
        V = self.tovalues(x).reshape(b, t, self.h, self.s).transpose(1, 2)
        A = torch.softmax(Q.matmul(K.transpose(2, 3)) / self.s**0.5, dim=3)
        out = A.matmul(V).reshape(b, t, k)
        return self.unifyheads(out).reshape(shape)

# %% no_transpose_heads: attention between the heads of one token: the head axis is not moved to the front
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
