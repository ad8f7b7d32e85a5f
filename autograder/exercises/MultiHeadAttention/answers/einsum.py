"""einsum, a boolean buffer, the scale on the query."""

import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError(f"d_out={d_out} must be divisible by num_heads={num_heads}")
        self.h, self.w, self.context_length = num_heads, d_out // num_heads, context_length
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.ones(context_length, context_length, dtype=torch.bool).tril()[None, None])

    def forward(self, x):
        b, n, _ = x.shape
        if n > self.context_length:
            raise ValueError(f"{n} tokens, at most {self.context_length}")
        q, k, v = (f(x).reshape(b, n, self.h, self.w) for f in (self.W_query, self.W_key, self.W_value))
        scores = torch.einsum("bihw,bjhw->bhij", q * self.w**-0.5, k)
        scores = torch.where(self.mask[..., :n, :n], scores, float("-inf"))
        weights = self.dropout(scores.softmax(dim=3))
        return self.out_proj(torch.einsum("bhij,bjhw->bihw", weights, v).reshape(b, n, -1))
