"""It times both directions and prints the first time; masks are made where there are none; keyword arguments."""

import time

import torch
import torch.nn.functional as F
from torch import nn


class MultiHeadCrossAttention(nn.Module):
    def __init__(self, d_query, d_context, d_out, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError(f"d_out={d_out} is not divisible by num_heads={num_heads}")
        self.h = num_heads
        self.w = d_out // num_heads
        self.W_query = nn.Linear(d_query, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x, context, context_mask=None):
        B, T, _ = x.shape
        _, S, _ = context.shape
        if context_mask is None:
            context_mask = torch.ones(B, S, dtype=torch.bool, device=x.device)
        if context_mask.ndim != 2:
            raise ValueError("context_mask must be (B, S)")
        q = self.W_query(x).view(B, T, self.h, self.w).transpose(1, 2)
        k = self.W_key(context).view(B, S, self.h, self.w).transpose(1, 2)
        v = self.W_value(context).view(B, S, self.h, self.w).transpose(1, 2)
        att = (q @ k.transpose(-2, -1)) * (self.w**-0.5)
        hidden = ~context_mask.view(B, 1, 1, S)
        att = F.softmax(att.masked_fill(hidden, torch.finfo(att.dtype).min), dim=-1).masked_fill(hidden, 0.0)
        out = (att @ v).transpose(1, 2).contiguous().view(B, T, self.h * self.w)
        return self.out_proj(out)


class CoAttentionStreams(nn.Module):
    def __init__(self, d, num_heads):
        super().__init__()
        self.v_to_q = MultiHeadCrossAttention(d_query=d, d_context=d, d_out=d, num_heads=num_heads)
        self.q_to_v = MultiHeadCrossAttention(d_query=d, d_context=d, d_out=d, num_heads=num_heads)
        self.seconds = []

    def forward(self, v, q, v_mask=None, q_mask=None):
        start = time.monotonic()
        v_new = self.v_to_q(x=v, context=q, context_mask=q_mask)
        q_new = self.q_to_v(x=q, context=v, context_mask=v_mask)
        self.seconds.append(time.monotonic() - start)
        if len(self.seconds) == 1:
            print("first call:", self.seconds[0], "seconds")
        return v_new, q_new
