"""It prints and times what it does, counts its calls, and masks with the lowest finite number."""

import time

import torch
import torch.nn.functional as F
from torch import nn


class CrossAttention(nn.Module):
    calls = 0

    def __init__(self, d_query, d_context, d_out, qkv_bias=False):
        super().__init__()
        self.d_out = d_out
        self.W_query = nn.Linear(d_query, d_out, qkv_bias)
        self.W_key = nn.Linear(d_context, d_out, qkv_bias)
        self.W_value = nn.Linear(d_context, d_out, qkv_bias)

    def forward(self, x, context, context_mask=None):
        started = time.perf_counter()
        CrossAttention.calls += 1
        if x.dim() != 3:
            raise ValueError(f"x should be (b, t, d_query), got {x.shape}")
        if context.dim() != 3:
            raise ValueError(f"context should be (b, s, d_context), got {context.shape}")
        if context_mask is None:
            context_mask = torch.ones(context.shape[:2], dtype=torch.bool, device=context.device)
        if context_mask.dim() != 2:
            raise ValueError(f"context_mask should be (b, s), got {context_mask.shape}")
        q = self.W_query(x)
        k = self.W_key(context)
        v = self.W_value(context)
        attn_scores = torch.bmm(q, k.permute(0, 2, 1)) / self.d_out**0.5
        keep = context_mask.unsqueeze(1)
        attn_scores = attn_scores.masked_fill(keep == False, torch.finfo(attn_scores.dtype).min)  # noqa: E712
        attn_weights = F.softmax(attn_scores, dim=2).masked_fill(keep == False, 0)  # noqa: E712
        out = torch.bmm(attn_weights, v)
        if CrossAttention.calls < 3:
            print("scores", attn_scores.shape, "out", out.shape, f"{time.perf_counter() - started:.4f} s")
        return out
