"""view, transpose, two masked_fills."""

import torch
from torch import nn


class MultiHeadCrossAttention(nn.Module):
    def __init__(self, d_query, d_context, d_out, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError(f"d_out={d_out} must be divisible by num_heads={num_heads}")
        self.h, self.w = num_heads, d_out // num_heads
        self.W_query = nn.Linear(d_query, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x, context, context_mask=None):
        if x.dim() != 3 or context.dim() != 3:
            raise ValueError(f"expected two batches, got {tuple(x.shape)} and {tuple(context.shape)}")
        b, t, _ = x.shape
        s = context.shape[1]
        queries = self.W_query(x).view(b, t, self.h, self.w).transpose(1, 2)  # (b, h, t, w)
        keys = self.W_key(context).view(b, s, self.h, self.w).transpose(1, 2)  # (b, h, s, w)
        values = self.W_value(context).view(b, s, self.h, self.w).transpose(1, 2)  # (b, h, s, w)
        scores = queries @ keys.transpose(2, 3) / self.w**0.5  # (b, h, t, s)
        if context_mask is None:
            weights = torch.softmax(scores, dim=-1)
        else:
            if context_mask.dim() != 2:
                raise ValueError(f"expected a mask of (b, s): {tuple(context_mask.shape)}")
            hidden = ~context_mask[:, None, None, :]  # (b, 1, 1, s)
            empty = hidden.all(dim=-1, keepdim=True)  # (b, 1, 1, 1)
            scores = scores.masked_fill(hidden, -torch.inf).masked_fill(empty, 0.0)
            weights = torch.softmax(scores, dim=-1).masked_fill(empty, 0.0)
        found = (weights @ values).transpose(1, 2).reshape(b, t, self.h * self.w)
        return self.out_proj(found)
