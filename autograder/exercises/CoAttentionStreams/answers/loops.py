"""Pairs and heads in loops; hidden tokens are taken out before anything is multiplied."""

import torch
from torch import nn


class MultiHeadCrossAttention(nn.Module):
    def __init__(self, d_query, d_context, d_out, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError(f"{num_heads} does not divide {d_out}")
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_query, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)

    def one(self, x, context, mask):
        found = []
        made = self.W_query(x), self.W_key(context), self.W_value(context)
        parts = zip(*(z.chunk(self.num_heads, -1) for z in made), strict=True)
        for q, k, v in parts:
            scores = q @ k.T / k.shape[1] ** 0.5  # (t, s)
            if mask is None:
                weights = scores.softmax(1)
            else:
                low = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
                weights = low.softmax(1) * mask
            found.append(weights @ v)
        return torch.cat(found, 1)

    def forward(self, x, context, context_mask=None):
        b, t, _ = x.shape
        b, s, _ = context.shape
        found = [self.one(x[i], context[i], None if context_mask is None else context_mask[i]) for i in range(b)]
        return self.out_proj(torch.stack(found))


class CoAttentionStreams(nn.Module):
    def __init__(self, d, num_heads):
        super().__init__()
        self.v_to_q = MultiHeadCrossAttention(d, d, d, num_heads)
        self.q_to_v = MultiHeadCrossAttention(d, d, d, num_heads)

    def forward(self, v, q, v_mask=None, q_mask=None):
        sides = [(self.v_to_q, v, q, q_mask), (self.q_to_v, q, v, v_mask)]
        return tuple(layer(x, context, mask) for layer, x, context, mask in sides)
