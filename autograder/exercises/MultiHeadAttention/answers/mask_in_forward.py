"""The mask is made in `forward` on the input's device; helpers as methods; prints and times itself."""

import time

import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads:
            raise ValueError(f"num_heads={num_heads} does not divide d_out={d_out}")
        self.num_heads, self.head_dim = num_heads, d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.context_length = context_length

    def heads_first(self, z):
        return z.unflatten(-1, (self.num_heads, self.head_dim)).movedim(-2, -3)

    def weights(self, q, k):
        n = q.shape[-2]
        later = torch.arange(n, device=q.device)[None, :] > torch.arange(n, device=q.device)[:, None]
        scores = (q @ k.mT).div(self.head_dim**0.5)
        return torch.softmax(scores.masked_fill(later, -torch.inf), dim=-1)

    def forward(self, x):
        began = time.perf_counter()
        if x.dim() != 3:
            raise ValueError(f"x has {x.dim()} dimensions")
        if x.shape[1] > self.context_length:
            raise ValueError(f"{x.shape[1]} > context_length = {self.context_length}")
        q, k, v = map(self.heads_first, (self.W_query(x), self.W_key(x), self.W_value(x)))
        found = self.dropout(self.weights(q, k)) @ v
        out = self.out_proj(found.movedim(-3, -2).flatten(-2))
        print("took", round(time.perf_counter() - began, 6))
        return out
