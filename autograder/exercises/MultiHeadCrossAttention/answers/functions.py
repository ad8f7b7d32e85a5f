"""One function for all heads, helpers that cut and merge, and an error class of its own that words the message."""

import torch
from torch import nn


class HeadsError(ValueError):
    def __init__(self, num_heads, d_out):
        super().__init__(f"d_out ({d_out}) must be divisible by num_heads ({num_heads})")


def split_heads(z, num_heads):
    b, n, width = z.shape
    return z.reshape(b, n, num_heads, width // num_heads).permute(0, 2, 1, 3)


def merge_heads(z):
    b, h, n, w = z.shape
    return z.permute(0, 2, 1, 3).reshape(b, n, h * w)


def attend(q, k, v, keep):
    scores = torch.einsum("bhtw,bhsw->bhts", q, k) / q.size(-1) ** 0.5
    scores = torch.where(keep, scores, torch.full_like(scores, torch.finfo(scores.dtype).min))
    return torch.einsum("bhts,bhsw->bhtw", scores.softmax(-1) * keep, v)


class MultiHeadCrossAttention(nn.Module):
    def __init__(self, d_query, d_context, d_out, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads:
            raise HeadsError(num_heads, d_out)
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_query, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x, context, context_mask=None):
        if context_mask is None and context.dim() == 3:
            context_mask = context.new_ones(context.shape[:2], dtype=torch.bool)
        if (x.dim(), context.dim(), context_mask.dim() if context_mask is not None else 2) != (3, 3, 2):
            raise ValueError("x and context need three dimensions, a mask needs two")
        q, k, v = (
            split_heads(z, self.num_heads) for z in (self.W_query(x), self.W_key(context), self.W_value(context))
        )
        return self.out_proj(merge_heads(attend(q, k, v, context_mask[:, None, None, :])))
