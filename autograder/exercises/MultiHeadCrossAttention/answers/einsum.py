"""Heads as an index of their own; what is hidden is multiplied away after the softmax over the lowest numbers."""

import torch
from torch import nn


class MultiHeadCrossAttention(nn.Module):
    def __init__(self, d_query, d_context, d_out, num_heads, qkv_bias=False):
        super().__init__()
        self.width, rest = divmod(d_out, num_heads)
        if rest:
            raise ValueError(f"{d_out} features cannot be shared among {num_heads} heads")
        self.W_query = nn.Linear(d_query, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x, context, context_mask=None):
        if (x.ndim, context.ndim) != (3, 3):
            raise ValueError("x and context should have three dimensions")
        q = self.W_query(x).unflatten(-1, (-1, self.width))
        k, v = (layer(context).unflatten(-1, (-1, self.width)) for layer in (self.W_key, self.W_value))
        scores = torch.einsum("bthw,bshw->bhts", q, k) / self.width**0.5
        if context_mask is None:
            weights = scores.softmax(-1)
        else:
            if context_mask.ndim != 2:
                raise ValueError("the mask should have two dimensions")
            seen = context_mask[:, None, None]
            weights = torch.where(seen, scores, torch.finfo(scores.dtype).min).softmax(-1) * seen
        return self.out_proj(torch.einsum("bhts,bshw->bthw", weights, v).flatten(2))
