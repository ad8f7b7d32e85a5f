"""Everything in one class, a step a line, in the order of the formula."""

import torch
import torch.nn.functional as F
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
        if x.dim() != 3:
            raise ValueError(f"expected a batch (b, n, d_in), got {tuple(x.shape)}")
        n = x.shape[1]
        if n > self.context_length:
            raise ValueError(f"a sequence of {n} tokens is longer than the context of {self.context_length}")

        allowed = self.mask[:n, :n]  # (n, n)
        if padding_mask is not None:
            allowed = allowed & padding_mask[:, None, :]  # (n, n) and (b, 1, n) -> (b, n, n)
        nothing = ~allowed.any(-1, keepdim=True)  # queries with nothing left to attend to

        Q = self.W_query(x)  # (b, n, d_out)
        K = self.W_key(x)  # (b, n, d_out)
        V = self.W_value(x)  # (b, n, d_out)
        scores = Q @ K.transpose(-2, -1) / K.shape[-1] ** 0.5  # (b, n, n)
        scores = scores.masked_fill(~allowed, float("-inf"))
        scores = scores.masked_fill(nothing, 0.0)  # harmless, so that no gradient is NaN
        weights = F.softmax(scores, dim=-1)
        weights = weights.masked_fill(nothing, 0.0)
        weights = self.dropout(weights)
        return weights @ V  # (b, n, d_out)
