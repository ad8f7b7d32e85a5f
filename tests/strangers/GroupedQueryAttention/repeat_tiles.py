# wrong: repeat instead of repeat_interleave, so strangers share; nothing refused in the constructor
# expect: heads-tiled, key-heads-not-checked, width-not-checked
# also: more-key-heads-than-heads
import math

import torch
from torch import nn


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, head_dim=None, rope_base=None, qk_norm=False):
        super().__init__()
        self.h, self.g = num_heads, num_kv_heads
        self.w = head_dim or d_model // num_heads
        self.rope_base = rope_base
        self.W_query = nn.Linear(d_model, self.h * self.w, bias=False)
        self.W_key = nn.Linear(d_model, self.g * self.w, bias=False)
        self.W_value = nn.Linear(d_model, self.g * self.w, bias=False)
        self.out_proj = nn.Linear(self.h * self.w, d_model, bias=False)
        self.qk_norm = qk_norm
        if qk_norm:
            self.q_norm = RMSNorm(self.w)
            self.k_norm = RMSNorm(self.w)

    def forward(self, x):
        if x.dim() != 3:
            raise ValueError("expected (b, t, d_model)")
        b, t, _ = x.shape
        q = self.W_query(x).view(b, t, self.h, self.w).transpose(1, 2)
        k = self.W_key(x).view(b, t, self.g, self.w).transpose(1, 2)
        v = self.W_value(x).view(b, t, self.g, self.w).transpose(1, 2)
        if self.qk_norm:
            q, k = self.q_norm(q), self.k_norm(k)
        if self.rope_base is not None:
            pos = torch.arange(t, device=x.device)
            q, k = apply_rope(q, pos, self.rope_base), apply_rope(k, pos, self.rope_base)
        k = k.repeat(1, self.h // self.g, 1, 1)
        v = v.repeat(1, self.h // self.g, 1, 1)
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.w)
        mask = torch.triu(torch.ones(t, t, dtype=torch.bool, device=x.device), diagonal=1)
        scores = scores.masked_fill(mask, float("-inf"))
        out = torch.softmax(scores, dim=-1) @ v
        return self.out_proj(out.transpose(1, 2).reshape(b, t, self.h * self.w))
