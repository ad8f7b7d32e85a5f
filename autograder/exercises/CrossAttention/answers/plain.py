"""masked_fill before and after the softmax."""

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
        queries, keys, values = self.W_query(x), self.W_key(context), self.W_value(context)
        scores = queries @ keys.transpose(1, 2) / keys.shape[-1] ** 0.5
        if context_mask is None:
            return torch.softmax(scores, dim=-1) @ values
        if context_mask.dim() != 2:
            raise ValueError(f"a mask of (b, s) is wanted, not {tuple(context_mask.shape)}")
        hidden = ~context_mask[:, None, :]
        empty = hidden.all(-1, keepdim=True)
        scores = scores.masked_fill(hidden, -torch.inf).masked_fill(empty, 0)
        return torch.softmax(scores, dim=-1).masked_fill(empty, 0) @ values
