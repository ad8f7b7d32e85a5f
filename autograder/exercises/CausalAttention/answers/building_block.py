"""Lesson 02's `attention` for the weights, the masks joined by multiplication."""

import torch
from torch import nn


def attention(query, key, value, mask=None):
    scores = query @ key.mT / key.shape[-1] ** 0.5
    if mask is not None:
        some = mask.any(-1, keepdim=True)
        scores = scores.masked_fill(~mask & some, -torch.inf)
    weights = scores.softmax(-1)
    if mask is not None:
        weights = weights * some
    return weights @ value, weights


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.context_length = context_length
        self.dropout = nn.Dropout(dropout)
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.register_buffer("mask", torch.tril(torch.ones(context_length, context_length)))

    def forward(self, x, padding_mask=None):
        if x.dim() != 3:
            raise ValueError(f"got {tuple(x.shape)}, expected (b, n, d_in)")
        n = x.size(-2)
        if n > self.context_length:
            raise ValueError(f"sequence length {n} > context length {self.context_length}")
        if padding_mask is None:
            padding_mask = torch.ones(x.shape[:2], dtype=torch.bool, device=x.device)
        joined = self.mask[:n, :n] * padding_mask.to(self.mask.dtype).unsqueeze(-2)
        _, weights = attention(self.W_query(x), self.W_key(x), self.W_value(x), joined > 0)
        return self.dropout(weights).matmul(self.W_value(x))
