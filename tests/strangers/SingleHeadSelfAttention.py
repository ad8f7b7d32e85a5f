# %% crashes_mended_only: the weights are applied to x instead of the values; only the crashes of the original are mended
# expect: inputs-as-values
# also: rank-not-checked
import torch
import torch.nn.functional as F
from torch import nn


class SingleHeadSelfAttention(nn.Module):
    """One attention head for one sequence: (t, k) -> (t, k)."""

    def __init__(self, k):
        super().__init__()
        self.k = k
        self.toqueries = nn.Linear(k, k, bias=False)
        self.tokeys = nn.Linear(k, k, bias=False)
        self.tovalues = nn.Linear(k, k, bias=False)

    def forward(self, x):
        queries = self.toqueries(x)
        keys = self.tokeys(x)
        values = self.tovalues(x)

        scores = torch.mm(queries, keys.transpose(0, 1))
        scaled = scores / self.k**0.5
        weights = F.softmax(scaled, dim=1)
        return torch.mm(weights, x)

# %% init_without_dunder: super().init() instead of super().__init__(); still weights times x
# expect: init-without-underscores, inputs-as-values
# also: rank-not-checked
import torch
import torch.nn.functional as F
from torch import nn


class SingleHeadSelfAttention(nn.Module):
    def __init__(self, k):
        super().init()
        self.k = k
        self.toqueries = nn.Linear(k, k, bias=False)
        self.tokeys = nn.Linear(k, k, bias=False)
        self.tovalues = nn.Linear(k, k, bias=False)

    def forward(self, x):
        q, keys, v = self.toqueries(x), self.tokeys(x), self.tovalues(x)
        w = F.softmax(torch.mm(q, keys.T) / self.k**0.5, dim=1)
        return torch.mm(w, x)

# %% key_query_swapped: keys ask and queries answer; the scale is k instead of its root
# expect: query-and-key-swapped, scale-without-root
# also: rank-not-checked
import torch
import torch.nn as nn


class SingleHeadSelfAttention(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.k = k
        self.toqueries = nn.Linear(k, k, bias=False)
        self.tokeys = nn.Linear(k, k, bias=False)
        self.tovalues = nn.Linear(k, k, bias=False)

    def forward(self, x):
        Q = self.toqueries(x)
        K = self.tokeys(x)
        V = self.tovalues(x)
        A = torch.softmax((K @ Q.T) / self.k, dim=-1)
        return A @ V

# %% softmax_rows_lost: softmax over dim 0, the queries; biases in the linear layers
# expect: softmax-over-queries, with-bias
# also: rank-not-checked, fact-biases
import torch
from torch import nn


class SingleHeadSelfAttention(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.scale = k**-0.5
        self.toqueries = nn.Linear(k, k)
        self.tokeys = nn.Linear(k, k)
        self.tovalues = nn.Linear(k, k)
        self.softmax = nn.Softmax(dim=0)

    def forward(self, x):
        att = self.toqueries(x).matmul(self.tokeys(x).t()) * self.scale
        return self.softmax(att).matmul(self.tovalues(x))

# %% transpose_left: transpose() is still called without dimensions
# expect: transpose-of-nothing
# also: rank-not-checked
import torch
import torch.nn.functional as F
from torch import nn


class SingleHeadSelfAttention(nn.Module):
    def __init__(self, k):
        super(SingleHeadSelfAttention, self).__init__()
        self.k = k
        self.toqueries = nn.Linear(k, k, bias=False)
        self.tokeys = nn.Linear(k, k, bias=False)
        self.tovalues = nn.Linear(k, k, bias=False)

    def forward(self, x):
        queries = self.toqueries(x)
        keys = self.tokeys(x)
        values = self.tovalues(x)
        scores = torch.mm(queries, keys.transpose())
        weights = F.softmax(scores / self.k**0.5, dim=1)
        return torch.mm(weights, values)
