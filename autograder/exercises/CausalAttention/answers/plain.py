"""Harmless scores in rows that see nothing, weights of 0 afterwards; the buffer as notebook 004 has it."""

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
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), diagonal=1))

    def forward(self, x, padding_mask=None):
        b, n, _ = x.shape  # a ValueError for another rank, by Python itself
        if n > self.mask.shape[0]:
            raise ValueError(f"sequence of {n} tokens, context of {self.mask.shape[0]}")
        hidden = self.mask[:n, :n].bool().expand(b, n, n)
        if padding_mask is not None:
            hidden = hidden | ~padding_mask.unsqueeze(1)
        empty = hidden.all(dim=-1, keepdim=True)
        scores = self.W_query(x) @ self.W_key(x).transpose(1, 2) / self.W_key.out_features**0.5
        scores = scores.masked_fill(hidden, float("-inf")).masked_fill(empty, 0.0)
        weights = F.softmax(scores, dim=-1).masked_fill(empty, 0.0)
        return self.dropout(weights) @ self.W_value(x)
