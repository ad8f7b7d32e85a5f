"""The cache is a dictionary; heads are grouped by einsum, without repeating anything."""

import math

import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, d, eps=1e-6):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(d)), eps

    def forward(self, x):
        high = x if x.dtype == torch.float64 else x.float()
        norm = high.norm(dim=-1, keepdim=True) / math.sqrt(x.shape[-1])
        return (high / (norm**2 + self.eps).sqrt()).to(x.dtype) * self.weight


def apply_rope(x, positions, base=10000.0):
    half, odd = divmod(x.shape[-1], 2)
    if odd:
        raise ValueError(f"the width {x.shape[-1]} is odd")
    real = torch.float64 if x.dtype == torch.float64 else torch.float32
    freqs = torch.exp(torch.arange(half, device=x.device, dtype=real) * (-math.log(base) / half))
    angles = positions.to(x.device, real)[..., None] * freqs
    if positions.ndim == 2:
        angles = angles[(slice(None), *[None] * (x.ndim - 3))]
    turned = torch.stack([x[..., :half], x[..., half:]], dim=-1).to(real)
    cos, sin = angles.cos(), angles.sin()
    a = turned[..., 0] * cos - turned[..., 1] * sin
    b = turned[..., 0] * sin + turned[..., 1] * cos
    return torch.cat([a, b], dim=-1).to(x.dtype)


class KVCache(dict):
    def extend(self, **new):
        """Put each new tensor (b, t, kv, w) behind the one of its name."""
        for name, tensor in new.items():
            self[name] = torch.cat([self[name], tensor], dim=1) if name in self else tensor
        return [self[name] for name in new]


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, head_dim=None, rope_base=None, qk_norm=False):
        super().__init__()
        if num_heads % num_kv_heads != 0:
            raise ValueError(f"{num_kv_heads} key heads do not divide {num_heads} query heads")
        if head_dim is None:
            head_dim, rest = divmod(d_model, num_heads)
            if rest:
                raise ValueError(f"{num_heads} heads do not divide {d_model}")
        self.kv, self.group, self.width, self.rope_base = num_kv_heads, num_heads // num_kv_heads, head_dim, rope_base
        for name, heads in ("W_query", num_heads), ("W_key", num_kv_heads), ("W_value", num_kv_heads):
            setattr(self, name, nn.Linear(d_model, heads * head_dim, bias=False))
        self.out_proj = nn.Linear(num_heads * head_dim, d_model, bias=False)
        self.q_norm, self.k_norm = (RMSNorm(head_dim) if qk_norm else None for _ in range(2))

    def forward(self, x, cache=None):
        b, t, _ = x.shape
        q = self.W_query(x).reshape(b, t, self.kv, self.group, self.width)
        k = self.W_key(x).reshape(b, t, self.kv, self.width)
        v = self.W_value(x).reshape(b, t, self.kv, self.width)
        if self.q_norm:
            q, k = self.q_norm(q), self.k_norm(k)
        start = cache["keys"].shape[1] if cache else 0
        if self.rope_base:
            places = torch.arange(start, start + t, device=x.device)
            q = apply_rope(q.permute(0, 2, 3, 1, 4), places, self.rope_base).permute(0, 3, 1, 2, 4)
            k = apply_rope(k.transpose(1, 2), places, self.rope_base).transpose(1, 2)
        if cache is not None:
            k, v = cache.extend(keys=k, values=v)
        scores = torch.einsum("btkgw,bskw->bkgts", q, k) * self.width**-0.5
        hidden = torch.ones(t, k.shape[1], dtype=torch.bool, device=x.device).triu(start + 1)
        weights = scores.masked_fill(hidden, float("-inf")).softmax(-1)
        return self.out_proj(torch.einsum("bkgts,bskw->btkgw", weights, v).reshape(b, t, -1))
