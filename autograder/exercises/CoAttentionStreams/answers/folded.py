"""Heads join the batch, and torch.bmm multiplies; the mask is repeated for the heads."""

import torch
from torch import nn


class MultiHeadCrossAttention(nn.Module):
    def __init__(self, d_query, d_context, d_out, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_out = {d_out}")
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_query, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)

    def fold(self, z):
        b, s, d = z.shape
        z = z.view(b, s, self.num_heads, d // self.num_heads)
        return z.transpose(1, 2).reshape(b * self.num_heads, s, d // self.num_heads)

    def forward(self, x, context, context_mask=None):
        for given in (x, context):
            if given.dim() != 3:
                raise ValueError(f"{given.dim()} dimensions instead of 3")
        b, t, _ = x.shape
        q, k, v = self.fold(self.W_query(x)), self.fold(self.W_key(context)), self.fold(self.W_value(context))
        scores = torch.bmm(q, k.transpose(1, 2)) / q.shape[-1] ** 0.5
        if context_mask is not None:
            hidden = ~context_mask.repeat_interleave(self.num_heads, dim=0).unsqueeze(1)
            scores = scores.masked_fill(hidden, torch.finfo(scores.dtype).min)
        weights = torch.softmax(scores, dim=2)
        if context_mask is not None:
            weights = weights.masked_fill(hidden, 0)
        found = torch.bmm(weights, v).view(b, self.num_heads, t, -1)
        return self.out_proj(found.transpose(1, 2).reshape(b, t, -1))


class CoAttentionStreams(nn.Module):
    def __init__(self, d, num_heads):
        super().__init__()
        self.q_to_v = MultiHeadCrossAttention(d, d, d, num_heads)
        self.v_to_q = MultiHeadCrossAttention(d, d, d, num_heads)

    def forward(self, v, q, v_mask=None, q_mask=None):
        q_new = self.q_to_v(q, v, context_mask=v_mask)
        v_new = self.v_to_q(v, q, context_mask=q_mask)
        return v_new, q_new
