"""With the function of lesson 02."""

import torch
from torch import nn


def attention(query, key, value, mask=None):
    scores = query @ key.mT / key.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = scores.softmax(-1)
    if mask is not None:
        weights = torch.where(mask.any(-1, keepdim=True), weights, torch.zeros_like(weights))
    return weights.nan_to_num() @ value, weights


class CrossAttention(nn.Module):
    def __init__(self, d_query, d_context, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_query, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_context, d_out, bias=qkv_bias)

    def forward(self, x, context, context_mask=None):
        for name, z, rank in (("x", x, 3), ("context", context, 3), ("context_mask", context_mask, 2)):
            if z is not None and z.dim() != rank:
                raise ValueError(f"{name} should have {rank} dimensions, but its shape is {tuple(z.shape)}")
        mask = None if context_mask is None else context_mask.unsqueeze(1)
        return attention(self.W_query(x), self.W_key(context), self.W_value(context), mask)[0]
