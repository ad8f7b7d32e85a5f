"""Step by step, and one softmax for calls with a mask and without one."""

import torch
from torch import nn


class MultiHeadCrossAttention(nn.Module):
    def __init__(self, d_query, d_context, d_out, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError(f"num_heads={num_heads} does not divide d_out={d_out}")
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_query, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)

    def cut(self, z):
        return z.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)  # (b, n, h·w) -> (b, h, n, w)

    def forward(self, x, context, context_mask=None):
        if x.dim() != 3 or context.dim() != 3:
            raise ValueError(f"x {tuple(x.shape)} and context {tuple(context.shape)} should have three dimensions")
        if context_mask is not None and context_mask.dim() != 2:
            raise ValueError(f"a mask of (b, s) is wanted, not {tuple(context_mask.shape)}")
        queries, keys, values = self.W_query(x), self.W_key(context), self.W_value(context)
        queries, keys, values = self.cut(queries), self.cut(keys), self.cut(values)
        scores = queries @ keys.mT / keys.shape[-1] ** 0.5  # (b, h, t, s)
        if context_mask is not None:
            allowed = context_mask[:, None, None, :]  # (b, 1, 1, s)
            empty = ~allowed.any(-1, keepdim=True)  # (b, 1, 1, 1)
            scores = scores.masked_fill(~allowed, -torch.inf).masked_fill(empty, 0.0)
        weights = torch.softmax(scores, dim=-1)
        if context_mask is not None:
            weights = weights.masked_fill(empty, 0.0)
        found = weights @ values  # (b, h, t, w)
        return self.out_proj(found.transpose(1, 2).flatten(2))
