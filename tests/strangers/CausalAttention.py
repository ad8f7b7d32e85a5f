# %% mask_in_forward_cpu: the mask is made on the CPU in every call and is no buffer; tril with diagonal 1 shows the next token
# expect: mask-not-moved, one-step-ahead
# also: rank-not-checked, fact-two-devices
import torch
from torch import nn


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.ctx = context_length
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, padding_mask=None):
        n = x.shape[-2]
        if n > self.ctx:
            raise ValueError(f"{n} tokens are more than {self.ctx}")
        mask = torch.tril(torch.ones(n, n), diagonal=1).bool()
        if padding_mask is not None:
            mask = mask & padding_mask.unsqueeze(-2)
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        s = q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5
        s = s.masked_fill(~mask, float("-inf"))
        w = torch.softmax(s, dim=-1)
        w = torch.where(torch.isnan(w), torch.zeros_like(w), w)
        return self.dropout(w) @ v

# %% minus_1e9: -1e9 instead of -inf, so a query with nothing to attend to sees everything a little; scaled by d_in
# expect: mask-fills-with-billion, scale-by-input-width
import math

import torch
from torch import nn


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.d_in = d_in
        self.context_length = context_length
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.tril(torch.ones(context_length, context_length)))

    def forward(self, x, padding_mask=None):
        batch, seq, _ = x.shape
        if seq > self.context_length:
            raise ValueError(f"sequence {seq} longer than {self.context_length}")
        query, key, value = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(self.d_in)
        scores = scores.masked_fill(self.mask[:seq, :seq] == 0, -1e9)
        if padding_mask is not None:
            scores = scores.masked_fill(padding_mask[:, None, :] == 0, -1e9)
        p = torch.softmax(scores, dim=-1)
        return torch.matmul(self.dropout(p), value)

# %% nan_output_zeroed: nan_to_num on the output, so gradients of empty rows stay NaN; dropout on the output
# expect: nan-patched-in-output, dropout-on-output
import torch
from torch import nn


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.context_length = context_length
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), 1).to(torch.bool))

    def forward(self, x, padding_mask=None):
        b, L, _ = x.shape
        if L > self.context_length:
            raise ValueError(f"L={L} > {self.context_length}")
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        logits = q @ k.permute(0, 2, 1) / (q.shape[2] ** 0.5)
        logits = logits.masked_fill(self.mask[:L, :L], float("-inf"))
        if padding_mask is not None:
            logits = logits.masked_fill(~padding_mask[:, None], float("-inf"))
        y = torch.softmax(logits, dim=-1) @ v
        y = torch.nan_to_num(y, nan=0.0)
        return self.dropout(y)

# %% nan_rows: only one thing: a query with nothing to attend to gives NaN
# expect: nan-in-empty-rows
import torch
from torch import nn


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.context_length = context_length
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.tril(torch.ones(context_length, context_length, dtype=torch.bool)))

    def forward(self, x, padding_mask=None):
        b, n, d_in = x.shape
        if n > self.context_length:
            raise ValueError(f"got {n} tokens, expected at most {self.context_length}")
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        mask = self.mask[:n, :n].expand(b, n, n)
        if padding_mask is not None:
            mask = mask & padding_mask.unsqueeze(1)
        scores = torch.einsum("bqd,bkd->bqk", q, k) / k.shape[-1] ** 0.5
        scores = scores.masked_fill(~mask, float("-inf"))
        w = self.dropout(scores.softmax(dim=-1))
        return torch.einsum("bqk,bkd->bqd", w, v)

# %% or_mask: causal or padding instead of and
# expect: padding-or-past
import torch
from torch import nn


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.n_max = context_length
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.drop = nn.Dropout(p=dropout)
        self.register_buffer("mask", torch.ones(context_length, context_length, dtype=torch.bool).tril())

    def forward(self, x, padding_mask=None):
        b, n, _ = x.size()
        if n > self.n_max:
            raise ValueError(f"expected at most {self.n_max} tokens, got {n}")
        m = self.mask[:n, :n].unsqueeze(0)
        if padding_mask is not None:
            m = m | padding_mask.unsqueeze(1)
        s = torch.matmul(self.W_query(x), self.W_key(x).transpose(-2, -1))
        s = s / (self.W_key.out_features**0.5)
        s = s.masked_fill(torch.logical_not(m), -torch.inf)
        return torch.matmul(self.drop(s.softmax(dim=-1)), self.W_value(x))

# %% order_of_book: softmax over dim 1; the mask is not a buffer; no padding
# expect: softmax-over-queries, mask-not-moved, padding-ignored
# also: too-long-not-refused, rank-not-checked, fact-two-devices
import torch
import torch.nn as nn


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.mask = torch.triu(torch.ones(context_length, context_length), diagonal=1).bool()

    def forward(self, x, padding_mask=None):
        n = x.shape[1]
        Q = self.W_query(x)
        K = self.W_key(x)
        V = self.W_value(x)
        scores = Q @ K.transpose(1, 2)
        scores = scores.masked_fill(self.mask[:n, :n], -torch.inf)
        weights = self.dropout(torch.softmax(scores / K.shape[-1] ** 0.5, dim=1))
        return weights @ V

# %% pad_inverted: the padding mask's True is taken for padding; empty rows are NaN; no scale
# expect: padding-inverted, no-scale, nan-in-empty-rows
import torch
import torch.nn.functional as F
from torch import nn


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.context_length = context_length
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), diagonal=1).bool())

    def forward(self, x, padding_mask=None):
        b, t, d = x.shape
        if t > self.context_length:
            raise ValueError(f"{t} tokens, context {self.context_length}")
        q = self.W_query(x)
        k = self.W_key(x)
        v = self.W_value(x)
        att = q @ k.transpose(1, 2)
        att = att.masked_fill(self.mask[:t, :t], float("-inf"))
        if padding_mask is not None:
            att = att.masked_fill(padding_mask.unsqueeze(1), float("-inf"))
        att = self.dropout(F.softmax(att, dim=-1))
        return att @ v

# %% padding_rows: the padding mask hides queries instead of keys; empty rows are NaN
# expect: padding-masks-queries, nan-in-empty-rows
# also: rank-not-checked, padding-by-indexing
import torch
from torch import nn


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.context_length = context_length
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.tril(torch.ones(context_length, context_length)).bool())

    def forward(self, x, padding_mask=None):
        n = x.shape[1]
        if n > self.context_length:
            raise ValueError(f"{n} tokens do not fit into a context of {self.context_length}")
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = q @ k.transpose(1, 2) / k.shape[-1] ** 0.5
        allowed = self.mask[:n, :n]
        if padding_mask is not None:
            allowed = allowed & padding_mask[:, :, None]
        scores = scores.masked_fill(~allowed, float("-inf"))
        return self.dropout(torch.softmax(scores, -1)) @ v

# %% padding_unused: the padding mask is not used; long sequences are not refused
# expect: padding-ignored, too-long-not-refused
import torch
import torch.nn as nn


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.d_out = d_out
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), diagonal=1))

    def forward(self, x, padding_mask=None):
        b, num_tokens, d_in = x.shape
        keys = self.W_key(x)
        queries = self.W_query(x)
        values = self.W_value(x)
        attn_scores = queries @ keys.transpose(1, 2)
        attn_scores.masked_fill_(self.mask.bool()[:num_tokens, :num_tokens], -torch.inf)
        attn_weights = torch.softmax(attn_scores / keys.shape[-1] ** 0.5, dim=-1)
        attn_weights = self.dropout(attn_weights)
        return attn_weights @ values
