# %% asserts: assert instead of ValueError for heads; long sequences are not refused; otherwise as in the book
# expect: assert-instead-of-an-error, length-not-checked
import torch
import torch.nn as nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        assert d_out % num_heads == 0, "d_out must be divisible by num_heads"
        self.h = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.tril(torch.ones(context_length, context_length)))

    def forward(self, x):
        B, N, _ = x.shape
        q, k, v = (lin(x).view(B, N, self.h, -1).transpose(1, 2) for lin in (self.W_query, self.W_key, self.W_value))
        att = q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5
        att = att.masked_fill(self.mask[:N, :N] == 0, float("-inf"))
        att = self.dropout(att.softmax(dim=-1))
        return self.out_proj((att @ v).transpose(1, 2).contiguous().view(B, N, -1))

# %% no_mask: not causal; no output projection
# expect: not-causal, no-output-projection
import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads:
            raise ValueError(f"{d_out} features, {num_heads} heads")
        self.num_heads = num_heads
        self.context_length = context_length
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        b, n, _ = x.shape
        if n > self.context_length:
            raise ValueError(f"{n} tokens, but {self.context_length} is the most")
        q = self.W_query(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
        k = self.W_key(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
        v = self.W_value(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
        w = self.dropout((q @ k.mT / k.shape[-1] ** 0.5).softmax(-1))
        return (w @ v).transpose(1, 2).flatten(2)

# %% scale_and_merge: scaled by d_out instead of the head's width; merged without transposing back
# expect: scale-by-all-heads, merged-without-transposing
import torch
import torch.nn as nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError(f"d_out {d_out} is not divisible by {num_heads} heads")
        self.d_out = d_out
        self.num_heads = num_heads
        self.head_dim = d_out // num_heads
        self.context_length = context_length
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), diagonal=1))

    def forward(self, x):
        b, n, d_in = x.shape
        if n > self.context_length:
            raise ValueError(f"{n} tokens, {self.context_length} fit")
        k = self.W_key(x).view(b, n, self.num_heads, self.head_dim).transpose(1, 2)
        q = self.W_query(x).view(b, n, self.num_heads, self.head_dim).transpose(1, 2)
        v = self.W_value(x).view(b, n, self.num_heads, self.head_dim).transpose(1, 2)
        scores = q @ k.transpose(2, 3)
        scores = scores.masked_fill(self.mask.bool()[:n, :n], -torch.inf)
        w = self.dropout(torch.softmax(scores / self.d_out**0.5, dim=-1))
        return self.out_proj((w @ v).reshape(b, n, self.d_out))

# %% view_straight: cut into heads by view(b, h, n, s) without a transpose, so tokens and heads mix
# expect: reshaped-in-one-step
import torch
import torch.nn.functional as F
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("d_out=%d num_heads=%d" % (d_out, num_heads))
        self.nh, self.hd, self.ctx = num_heads, d_out // num_heads, context_length
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.drop = nn.Dropout(dropout)
        self.register_buffer("mask", torch.tril(torch.ones(context_length, context_length)).view(1, 1, context_length, context_length))

    def forward(self, x):
        B, T, C = x.size()
        if T > self.ctx:
            raise ValueError("T=%d context_length=%d" % (T, self.ctx))
        q = self.W_query(x).view(B, self.nh, T, self.hd)
        k = self.W_key(x).view(B, self.nh, T, self.hd)
        v = self.W_value(x).view(B, self.nh, T, self.hd)
        att = (q @ k.transpose(-2, -1)) * (1.0 / self.hd**0.5)
        att = att.masked_fill(self.mask[:, :, :T, :T] == 0, float("-inf"))
        att = self.drop(F.softmax(att, dim=-1))
        y = (att @ v).transpose(1, 2).contiguous().view(B, T, self.nh * self.hd)
        return self.out_proj(y)
