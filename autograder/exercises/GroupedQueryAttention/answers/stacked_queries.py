"""The queries of a group are stacked along the tokens, so one product serves all that share a key head."""

import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, d, eps=1e-6):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(d)), eps

    def forward(self, x):
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.eps)).to(x.dtype) * self.weight


def apply_rope(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    wide = torch.promote_types(x.dtype, torch.float32)
    inv_freq = 1.0 / base ** (torch.arange(half, dtype=wide, device=x.device) / half)
    angle = positions.to(wide).unsqueeze(-1) * inv_freq
    cos, sin = angle.cos(), angle.sin()
    x1, x2 = x.to(wide).split(half, dim=-1)
    return torch.cat([x1 * cos - x2 * sin, x1 * sin + x2 * cos], dim=-1).to(x.dtype)


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, head_dim=None, rope_base=None, qk_norm=False):
        super().__init__()
        if num_heads % num_kv_heads != 0:
            raise ValueError(f"num_kv_heads = {num_kv_heads} does not divide num_heads = {num_heads}")
        if head_dim is None:
            if d_model % num_heads != 0:
                raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
            head_dim = d_model // num_heads
        self.h, self.kv, self.w = num_heads, num_kv_heads, head_dim
        self.rope_base = rope_base
        self.W_query = nn.Linear(d_model, num_heads * head_dim, bias=False)
        self.W_key = nn.Linear(d_model, num_kv_heads * head_dim, bias=False)
        self.W_value = nn.Linear(d_model, num_kv_heads * head_dim, bias=False)
        self.out_proj = nn.Linear(num_heads * head_dim, d_model, bias=False)
        self.qk_norm = qk_norm
        if self.qk_norm:
            self.q_norm = RMSNorm(self.w)
            self.k_norm = RMSNorm(self.w)

    def forward(self, x):
        b, t, _ = x.shape
        g = self.h // self.kv
        positions = torch.arange(t, device=x.device)
        q = self.W_query(x).reshape(b, t, self.h, self.w).permute(0, 2, 1, 3)
        k = self.W_key(x).reshape(b, t, self.kv, self.w).permute(0, 2, 1, 3)
        v = self.W_value(x).reshape(b, t, self.kv, self.w).permute(0, 2, 1, 3)
        if self.qk_norm:
            q, k = self.q_norm(q), self.k_norm(k)
        if self.rope_base is not None:
            q = apply_rope(q, positions, self.rope_base)
            k = apply_rope(k, positions, self.rope_base)
        q = q.reshape(b, self.kv, g * t, self.w)
        seen = (positions[:, None] >= positions).repeat(g, 1)
        scores = torch.where(seen, (q / self.w**0.5) @ k.mT, -torch.inf)
        found = torch.softmax(scores, dim=-1) @ v
        return self.out_proj(found.reshape(b, self.h, t, self.w).permute(0, 2, 1, 3).flatten(2))
