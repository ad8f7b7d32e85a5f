"""Heads join the batch, as in the lesson's notebook 000; the mask is repeated for each head of an item."""

import torch
from torch import nn


class MultiHeadCrossAttention(nn.Module):
    def __init__(self, d_query, d_context, d_out, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError(f"{num_heads} does not divide {d_out}")
        self.h, self.w = num_heads, d_out // num_heads
        self.W_query = nn.Linear(d_query, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)

    def fold(self, z):
        b, n, _ = z.shape
        return z.view(b, n, self.h, self.w).transpose(1, 2).contiguous().view(b * self.h, n, self.w)

    def forward(self, x, context, context_mask=None):
        if x.dim() != 3:
            raise ValueError(f"x is {tuple(x.shape)}")
        if context.dim() != 3:
            raise ValueError(f"context is {tuple(context.shape)}")
        b, t, _ = x.shape
        q, k, v = self.fold(self.W_query(x)), self.fold(self.W_key(context)), self.fold(self.W_value(context))
        scores = torch.bmm(q, k.transpose(1, 2)) / self.w**0.5  # (b*h, t, s)
        if context_mask is not None:
            if context_mask.dim() != 2:
                raise ValueError(f"context_mask is {tuple(context_mask.shape)}")
            seen = context_mask.repeat_interleave(self.h, dim=0).unsqueeze(1)  # (b*h, 1, s)
            scores = scores.masked_fill(~seen, -torch.inf)
            weights = torch.softmax(scores, dim=-1).nan_to_num(0.0)
        else:
            weights = torch.softmax(scores, dim=-1)
        found = torch.bmm(weights, v).view(b, self.h, t, self.w)
        return self.out_proj(found.transpose(1, 2).reshape(b, t, self.h * self.w))
