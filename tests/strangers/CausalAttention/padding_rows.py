# wrong: the padding mask hides queries instead of keys; empty rows are NaN
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
