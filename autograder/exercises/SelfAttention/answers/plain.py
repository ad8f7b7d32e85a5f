"""matmul, transpose and softmax."""

import torch
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.d_out = d_out
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        if x.ndim != 2 and x.ndim != 3:
            raise ValueError(f"x must be 2D or 3D, got {x.ndim}D")
        keys, queries, values = self.W_key(x), self.W_query(x), self.W_value(x)
        attn_scores = torch.matmul(queries, keys.mT)
        attn_weights = torch.softmax(attn_scores / keys.shape[-1] ** 0.5, dim=-1)
        context_vec = torch.matmul(attn_weights, values)
        return context_vec
