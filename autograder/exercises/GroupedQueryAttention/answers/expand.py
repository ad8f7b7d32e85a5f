"""The way of Hugging Face: expand to the number of query heads, and an additive mask of the lowest number."""

import math

import torch
import torch.nn.functional as F
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


def repeat_kv(states, n_rep):
    b, kv, t, w = states.shape
    if n_rep == 1:
        return states
    return states[:, :, None].expand(b, kv, n_rep, t, w).reshape(b, kv * n_rep, t, w)


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, head_dim=None, rope_base=None, qk_norm=False):
        super().__init__()
        if num_heads % num_kv_heads != 0:
            raise ValueError(f"num_kv_heads = {num_kv_heads} does not divide num_heads = {num_heads}")
        if head_dim is None:
            if d_model % num_heads != 0:
                raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
            head_dim = d_model // num_heads
        self.head_dim, self.groups = head_dim, num_heads // num_kv_heads
        self.rope_base = rope_base
        self.W_query = nn.Linear(d_model, num_heads * head_dim, bias=False)
        self.W_key = nn.Linear(d_model, num_kv_heads * head_dim, bias=False)
        self.W_value = nn.Linear(d_model, num_kv_heads * head_dim, bias=False)
        self.out_proj = nn.Linear(num_heads * head_dim, d_model, bias=False)
        self.q_norm = self.k_norm = None
        if qk_norm:
            self.q_norm, self.k_norm = RMSNorm(head_dim), RMSNorm(head_dim)

    def forward(self, x):
        b, t, _ = x.shape
        shape = (b, t, -1, self.head_dim)
        queries, keys = self.W_query(x).view(shape), self.W_key(x).view(shape)
        if self.q_norm is not None:
            queries, keys = self.q_norm(queries), self.k_norm(keys)
        queries, keys = queries.transpose(1, 2), keys.transpose(1, 2)
        values = self.W_value(x).view(shape).transpose(1, 2)
        if self.rope_base:
            positions = torch.arange(t, device=x.device)
            queries = apply_rope(queries, positions, self.rope_base)
            keys = apply_rope(keys, positions, self.rope_base)
        keys, values = repeat_kv(keys, self.groups), repeat_kv(values, self.groups)
        scores = torch.matmul(queries, keys.transpose(2, 3)) / math.sqrt(self.head_dim)
        mask = torch.triu(torch.ones(t, t, dtype=torch.bool, device=x.device), diagonal=1)
        scores = scores.masked_fill(mask, torch.finfo(scores.dtype).min)
        weights = F.softmax(scores, dim=-1)
        return self.out_proj(torch.matmul(weights, values).transpose(1, 2).contiguous().view(b, t, -1))
