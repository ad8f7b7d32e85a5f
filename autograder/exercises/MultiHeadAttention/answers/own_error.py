"""Errors of its own that are ValueErrors, raised by a helper; heads are cut by `reshape` and `swapaxes`."""

import torch
from torch import nn


class WrongShape(ValueError):
    """An argument does not fit."""


def need(condition, message):
    if not condition:
        raise WrongShape(message)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        need(d_out % num_heads == 0, f"d_out = {d_out} cannot be shared by num_heads = {num_heads}")
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("future", torch.ones(context_length, context_length).triu(diagonal=1).bool())

    def forward(self, x):
        need(x.dim() == 3, f"(b, n, d_in) is needed, not {tuple(x.shape)}")
        b, n, _ = x.shape
        most = self.future.shape[0]
        need(n <= most, f"{n} tokens are too many, {most} fit")
        q = self.W_query(x).reshape(b, n, self.num_heads, -1).swapaxes(1, 2)
        k = self.W_key(x).reshape(b, n, self.num_heads, -1).swapaxes(1, 2)
        v = self.W_value(x).reshape(b, n, self.num_heads, -1).swapaxes(1, 2)
        scores = torch.matmul(q, k.swapaxes(2, 3)) / k.shape[3] ** 0.5
        weights = self.dropout(scores.masked_fill(self.future[:n, :n], -torch.inf).softmax(dim=3))
        return self.out_proj(torch.matmul(weights, v).swapaxes(1, 2).reshape(b, n, -1))
