"""Annotations that name shapes, as plain strings; einsum with `...`; an added mask of -inf."""

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
        hidden = torch.full((context_length, context_length), float("-inf")).triu(diagonal=1)
        self.register_buffer("mask", hidden)

    def split(self, z: 'Float[Tensor, "b n d_out"]') -> 'Float[Tensor, "b n h w"]':  # noqa: F722, F821
        return z.reshape(*z.shape[:-1], self.num_heads, self.head_dim)

    def forward(self, x: 'Float[Tensor, "b n d_in"]') -> 'Float[Tensor, "b n d_out"]':  # noqa: F722, F821
        match x.dim():
            case 3:
                n = x.shape[1]
            case rank:
                raise ValueError(f"rank {rank}")
        if n > self.context_length:
            raise ValueError(f"at most {self.context_length} tokens, not {n}")
        q, k, v = self.split(self.W_query(x)), self.split(self.W_key(x)), self.split(self.W_value(x))
        scores = torch.einsum("...ihw,...jhw->...hij", q, k) / self.head_dim**0.5 + self.mask[:n, :n]
        weights = self.dropout(scores.softmax(-1))
        return self.out_proj(torch.einsum("...hij,...jhw->...ihw", weights, v).flatten(-2))
