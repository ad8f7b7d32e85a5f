# %% always_batched: a single sequence comes back with a batch dimension; softmax over queries
# expect: batch-added, softmax-over-dim-1
# also: softmax-over-queries, rank-not-checked
import torch.nn.functional as F
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        if x.dim() == 2:
            x = x.unsqueeze(0)
        Q = self.W_query(x)
        K = self.W_key(x)
        V = self.W_value(x)
        scores = Q @ K.transpose(1, 2)
        weights = F.softmax(scores / K.shape[-1] ** 0.5, dim=1)
        return weights @ V

# %% bias_ignored: qkv_bias is not handed on, the layers always have a bias
# expect: always-bias
# also: rank-not-checked
import math

import torch
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out)
        self.W_key = nn.Linear(d_in, d_out)
        self.W_value = nn.Linear(d_in, d_out)

    def forward(self, x):
        Q = self.W_query(x)
        K = self.W_key(x)
        V = self.W_value(x)
        A = torch.softmax(Q @ K.transpose(-2, -1) / math.sqrt(K.size(-1)), -1)
        return A @ V

# %% cuda_call: .cuda() wherever there is a GPU or not; softmax over the queries of a batch
# expect: softmax-over-dim-1, ?
# also: rank-not-checked
import torch
from torch import nn
from torch.autograd import Variable


class SelfAttention(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias).cuda()
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias).cuda()
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias).cuda()

    def forward(self, x):
        x = Variable(x).cuda()
        q = self.W_query(x)
        k = self.W_key(x)
        v = self.W_value(x)
        w = nn.Softmax(dim=1)(torch.matmul(q, k.transpose(-2, -1)) / k.size(-1) ** 0.5)
        return torch.matmul(w, v)

# %% dim_left: the transpose is mended, the softmax is still over dim 1 (queries in a batch)
# expect: softmax-over-dim-1
# also: rank-not-checked
import torch
import torch.nn.functional as F
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        Q = self.W_query(x)
        K = self.W_key(x)
        V = self.W_value(x)

        scores = Q @ K.transpose(-2, -1)
        weights = F.softmax(scores / K.shape[-1] ** 0.5, dim=1)
        return weights @ V

# %% dim_two: dim=2 and transpose(1, 2): only a batch works; the scale is by d_in, the input's width
# expect: transpose-from-the-front, scale-by-input-width
# also: rank-not-checked, fact-no-such-dimension
import torch
import torch.nn as nn


class SelfAttention(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.d_in = d_in
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        q = self.W_query(x)
        k = self.W_key(x)
        v = self.W_value(x)
        att = torch.bmm(q, k.transpose(1, 2)) / (self.d_in**0.5)
        att = torch.softmax(att, dim=2)
        return torch.bmm(att, v)

# %% einsum_batch_only: einsum with a fixed batch dimension refuses a single sequence; no scale
# expect: no-scale, einsum-for-a-batch
# also: rank-not-checked
import torch
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        energy = torch.einsum("nqd,nkd->nqk", [q, k])
        attention = torch.softmax(energy, dim=2)
        return torch.einsum("nqk,nkd->nqd", [attention, v])

# %% no_scale_swap: no scale; keys used as values
# expect: no-scale, keys-as-values
# also: rank-not-checked
import torch.nn.functional as F
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        q = self.W_query(x)
        k = self.W_key(x)
        v = self.W_key(x)
        w = F.softmax(q @ k.transpose(-1, -2), dim=-1)
        return w @ v

# %% one_projection: one projection for queries, keys and values
# expect: one-projection
# also: rank-not-checked
import torch
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        proj = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_query = self.W_key = self.W_value = proj

    def forward(self, x):
        q = self.W_query(x)
        k = self.W_key(x)
        v = self.W_value(x)
        s = torch.matmul(q, k.transpose(-2, -1)) / k.size(-1) ** 0.5
        return torch.matmul(torch.softmax(s, -1), v)

# %% parameters_matrix: nn.Parameter matrices instead of nn.Linear; no bias ever
# expect: never-bias, layers-made-in-forward
# also: rank-not-checked
import torch
import torch.nn as nn


class SelfAttention(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x):
        keys = x @ self.W_key
        queries = x @ self.W_query
        values = x @ self.W_value
        attn_scores = queries @ keys.transpose(-2, -1)
        attn_weights = torch.softmax(attn_scores / keys.shape[-1] ** 0.5, dim=-1)
        return attn_weights @ values

# %% squeezed: squeeze() at the end drops every dimension of size 1, a batch of one too
# expect: squeezed
# also: rank-not-checked
import torch
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        if len(x.shape) < 3:
            x = x[None]
        q = self.W_query(x)
        k = self.W_key(x)
        v = self.W_value(x)
        alpha = (q @ k.transpose(1, 2)) / (k.shape[2] ** 0.5)
        alpha = alpha.softmax(2)
        return (alpha @ v).squeeze()

# %% transpose_left: the softmax is mended, but transpose(1, 2) still fails on a single sequence
# expect: transpose-from-the-front
# also: rank-not-checked
import torch.nn.functional as F
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        Q, K, V = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = Q @ K.transpose(1, 2)
        weights = F.softmax(scores / K.shape[-1] ** 0.5, dim=-1)
        return weights @ V
