# %% causal_copy: a causal mask is left over from self-attention; NaN when everything is hidden
# expect: causal, nothing-left-is-nan
# also: rank-not-checked, context-not-checked, rank-of-the-mask-not-checked
import torch
import torch.nn.functional as F
from torch import nn


class CrossAttention(nn.Module):
    def __init__(self, d_query, d_context, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_query, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_context, d_out, bias=qkv_bias)

    def forward(self, x, context, context_mask=None):
        T, S = x.shape[1], context.shape[1]
        q = self.W_query(x)
        k = self.W_key(context)
        v = self.W_value(context)
        wei = q @ k.transpose(-2, -1) * k.shape[-1] ** -0.5
        tril = torch.tril(torch.ones(T, S, device=x.device))
        wei = wei.masked_fill(tril == 0, float("-inf"))
        if context_mask is not None:
            wei = wei.masked_fill(context_mask[:, None, :] == 0, float("-inf"))
        return F.softmax(wei, dim=-1) @ v

# %% finite_fill_polarity: True is taken for hidden; filled with -1e9
# expect: context-mask-inverted, context-mask-filled-with-1e9
# also: rank-not-checked, context-not-checked, rank-of-the-mask-not-checked
import torch
from torch import nn


class CrossAttention(nn.Module):
    def __init__(self, d_query, d_context, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_query, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_context, d_out, bias=qkv_bias)

    def forward(self, x, context, context_mask=None):
        q, k, v = self.W_query(x), self.W_key(context), self.W_value(context)
        dots = q @ k.transpose(1, 2) * (k.shape[-1] ** -0.5)
        if context_mask is not None:
            dots = dots.masked_fill(context_mask.unsqueeze(1), -1e9)
        return dots.softmax(dim=-1) @ v

# %% mask_ignored: the mask is not used
# expect: context-mask-ignored
# also: rank-of-the-mask-not-checked
import math

import torch
from torch import nn


class CrossAttention(nn.Module):
    def __init__(self, d_query, d_context, d_out, qkv_bias=False):
        super().__init__()
        self.d = d_out
        self.W_query = nn.Linear(d_query, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_context, d_out, bias=qkv_bias)

    def forward(self, x, context, context_mask=None):
        b, t, _ = x.shape
        b, s, _ = context.shape
        att = torch.einsum("btd,bsd->bts", self.W_query(x), self.W_key(context)) / math.sqrt(self.d)
        att = att.softmax(dim=2)
        return torch.einsum("bts,bsd->btd", att, self.W_value(context))

# %% mask_queries: the mask is put on the queries' axis (unsqueeze(2)), which fails or hides queries
# expect: context-mask-hides-queries
# also: rank-of-the-mask-not-checked
import torch
from torch import nn


class CrossAttention(nn.Module):
    def __init__(self, d_query, d_context, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_query, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_context, d_out, bias=qkv_bias)

    def forward(self, x, context, context_mask=None):
        if x.dim() != 3 or context.dim() != 3:
            raise ValueError("x and context should be (b, t, d)")
        k = self.W_key(context)
        w = self.W_query(x) @ k.mT / k.shape[-1] ** 0.5
        if context_mask is not None:
            w = w.masked_fill(~context_mask.unsqueeze(2), float("-inf"))
        w = torch.softmax(w, dim=-1)
        w = w.masked_fill(w.isnan(), 0)
        return w @ self.W_value(context)

# %% nan_left: NaN where the whole context is hidden; scaled by d_query
# expect: nothing-left-is-nan, scale-by-input-width
# also: rank-of-the-mask-not-checked
import torch
from torch import nn


class CrossAttention(nn.Module):
    def __init__(self, d_query, d_context, d_out, qkv_bias=False):
        super().__init__()
        self.scale = d_query**-0.5
        self.W_query = nn.Linear(d_query, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_context, d_out, bias=qkv_bias)

    def forward(self, x, context, context_mask=None):
        b, t, _ = x.size()
        b2, s, _ = context.size()
        sim = torch.bmm(self.W_query(x), self.W_key(context).transpose(1, 2)) * self.scale
        if context_mask is not None:
            m = context_mask.view(b2, 1, s).expand(b, t, s)
            sim = sim.masked_fill(m == False, -float("inf"))
        attn = nn.functional.softmax(sim, dim=-1)
        return torch.bmm(attn, self.W_value(context))

# %% roles_swapped: the context asks and x answers
# expect: sides-swapped, context-mask-ignored
# also: layer-widths-swapped, rank-not-checked, context-not-checked, rank-of-the-mask-not-checked
import torch
import torch.nn.functional as F
from torch import nn


class CrossAttention(nn.Module):
    def __init__(self, d_query, d_context, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_query, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_query, d_out, bias=qkv_bias)

    def forward(self, x, context, context_mask=None):
        Q = self.W_query(context)
        K = self.W_key(x)
        V = self.W_value(x)
        S = torch.matmul(Q, K.transpose(-2, -1)) / K.shape[-1] ** 0.5
        return torch.matmul(F.softmax(S, dim=-1), V)

# %% values_from_x: the values are made from x, and W_value has x's width; no scale
# expect: values-from-x, value-layer-as-wide-as-x, no-scale
# also: nothing-left-is-nan, rank-not-checked, context-not-checked, rank-of-the-mask-not-checked
import torch
from torch import nn


class CrossAttention(nn.Module):
    def __init__(self, d_query, d_context, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_query, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_query, d_out, bias=qkv_bias)

    def forward(self, x, context, context_mask=None):
        q = self.W_query(x)
        k = self.W_key(context)
        v = self.W_value(x)
        scores = q @ k.transpose(1, 2)
        if context_mask is not None:
            scores = scores.masked_fill(~context_mask[:, None, :], float("-inf"))
        return torch.softmax(scores, dim=-1) @ v

# %% weights_multiplied: the mask is multiplied with the weights after the softmax; softmax over the queries
# expect: context-mask-after-softmax, softmax-over-queries
# also: rank-not-checked, context-not-checked, rank-of-the-mask-not-checked
import torch
from torch import nn


class CrossAttention(nn.Module):
    def __init__(self, d_query, d_context, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_query, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.softmax = nn.Softmax(dim=1)

    def forward(self, x, context, context_mask=None):
        query = self.W_query(x)
        key = self.W_key(context)
        value = self.W_value(context)
        attention_map = self.softmax(query.bmm(key.permute(0, 2, 1)) / key.size(2) ** 0.5)
        if context_mask is not None:
            attention_map = attention_map * context_mask.unsqueeze(1).to(attention_map.dtype)
        return attention_map.bmm(value)
