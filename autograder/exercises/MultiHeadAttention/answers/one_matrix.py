"""The three weights are stacked for one product, and the softmax is one's own."""

import torch
import torch.nn.functional as F
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
        self.qkv_bias = qkv_bias

    def forward(self, x):
        b, n, _ = x.shape
        if n > self.context_length:
            raise ValueError(f"{n} tokens, at most {self.context_length}")
        layers = (self.W_query, self.W_key, self.W_value)
        weight = torch.cat([f.weight for f in layers])
        bias = torch.cat([f.bias for f in layers]) if self.qkv_bias else None
        q, k, v = F.linear(x, weight, bias).reshape(b, n, 3, self.h, self.w).permute(2, 0, 3, 1, 4)
        positions = torch.arange(n, device=x.device)
        allowed = positions[:, None] >= positions
        scores = (q @ k.mT / self.w**0.5).masked_fill(~allowed, float("-inf"))
        powers = (scores - scores.amax(-1, keepdim=True)).exp()
        weights = self.dropout(powers / powers.sum(-1, keepdim=True))
        return self.out_proj((weights @ v).movedim(1, 2).reshape(b, n, -1))
