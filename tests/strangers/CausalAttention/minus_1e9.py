# wrong: -1e9 instead of -inf, so a query with nothing to attend to sees everything a little; scaled by d_in
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
