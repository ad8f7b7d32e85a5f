"""Step by step, and one softmax for calls with a mask and without one."""

import torch
from torch import nn


class CrossAttention(nn.Module):
    def __init__(self, d_query, d_context, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_query, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_context, d_out, bias=qkv_bias)

    def forward(self, x, context, context_mask=None):
        if x.dim() != 3 or context.dim() != 3:
            raise ValueError(f"x {tuple(x.shape)} and context {tuple(context.shape)} should have three dimensions")
        if context_mask is not None and context_mask.dim() != 2:
            raise ValueError(f"a mask of (b, s) is wanted, not {tuple(context_mask.shape)}")
        queries, keys, values = self.W_query(x), self.W_key(context), self.W_value(context)
        scores = queries @ keys.mT / keys.shape[-1] ** 0.5  # (b, t, s)
        if context_mask is not None:
            allowed = context_mask[:, None, :]  # (b, 1, s)
            empty = ~allowed.any(-1, keepdim=True)  # (b, 1, 1)
            scores = scores.masked_fill(~allowed, -torch.inf).masked_fill(empty, 0.0)
        weights = torch.softmax(scores, dim=-1)
        if context_mask is not None:
            weights = weights.masked_fill(empty, 0.0)
        found = weights @ values  # (b, t, d_out)
        return found
