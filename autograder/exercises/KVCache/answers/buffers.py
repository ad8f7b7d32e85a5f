"""The cache is a module with buffers; one layer of helpers, and an additive mask."""

import torch
import torch.nn.functional as F
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, d, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d))
        self.eps = eps

    def forward(self, x):
        if x.dtype in (torch.float16, torch.bfloat16):
            return F.rms_norm(x.float(), self.weight.shape, self.weight.float(), self.eps).to(x.dtype)
        return F.rms_norm(x, self.weight.shape, self.weight, self.eps)


def apply_rope(x, positions, base=10000.0):
    if x.shape[-1] % 2:
        raise ValueError(f"x has an odd width: {x.shape[-1]}")
    wide = torch.float64 if x.dtype == torch.float64 else torch.float32
    steps = torch.arange(0, x.shape[-1], 2, device=x.device).to(wide) / x.shape[-1]
    angles = positions.to(x.device)[..., :, None].to(wide) / base**steps
    if angles.dim() == 3 and x.dim() == 4:
        angles = angles[:, None]
    left, right = x.to(wide).tensor_split(2, dim=-1)
    rotated = torch.complex(left, right) * torch.polar(torch.ones_like(angles), angles)
    return torch.cat([rotated.real, rotated.imag], dim=-1).to(x.dtype)


class KVCache(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("past", None)

    @property
    def seen(self):
        return 0 if self.past is None else self.past.shape[3]

    def forward(self, key, value):
        """Keys and values are one tensor: (2, b, kv, s, w)."""
        new = torch.stack([key, value]).detach()
        self.past = new if self.past is None else torch.cat([self.past, new], dim=3)
        return self.past.unbind()


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, head_dim=None, rope_base=None, qk_norm=False):
        super().__init__()
        if num_heads % num_kv_heads:
            raise ValueError(f"{num_heads=} is no multiple of {num_kv_heads=}")
        if head_dim is None and d_model % num_heads:
            raise ValueError(f"{d_model=} is no multiple of {num_heads=}")
        self.head_dim = d_model // num_heads if head_dim is None else head_dim
        self.num_heads, self.num_kv_heads, self.rope_base, self.qk_norm = num_heads, num_kv_heads, rope_base, qk_norm
        self.W_query = nn.Linear(d_model, num_heads * self.head_dim, bias=False)
        self.W_key = nn.Linear(d_model, num_kv_heads * self.head_dim, bias=False)
        self.W_value = nn.Linear(d_model, num_kv_heads * self.head_dim, bias=False)
        self.out_proj = nn.Linear(num_heads * self.head_dim, d_model, bias=False)
        if qk_norm:
            self.q_norm = RMSNorm(self.head_dim)
            self.k_norm = RMSNorm(self.head_dim)

    def forward(self, x, cache=None):
        batch, new, _ = x.shape
        seen = cache.seen if cache is not None else 0
        place = torch.arange(seen, seen + new, device=x.device)

        query = self.heads(self.W_query(x))
        key = self.heads(self.W_key(x))
        value = self.heads(self.W_value(x))
        if self.qk_norm:
            query, key = self.q_norm(query), self.k_norm(key)
        if self.rope_base is not None:
            query = apply_rope(query, place, self.rope_base)
            key = apply_rope(key, place, self.rope_base)
        if cache is not None:
            key, value = cache(key, value)

        # (b, kv, group, t, w) against (b, kv, 1, s, w)
        query = query.unflatten(1, (self.num_kv_heads, -1))
        scores = query @ key.unsqueeze(2).mT / self.head_dim**0.5
        later = torch.arange(seen + new, device=x.device) > place[:, None]
        bias = torch.zeros(later.shape, dtype=x.dtype, device=x.device).masked_fill(later, float("-inf"))
        found = (scores + bias).softmax(dim=-1) @ value.unsqueeze(2)
        return self.out_proj(found.flatten(1, 2).transpose(1, 2).reshape(batch, new, -1))

    def heads(self, x):
        return x.unflatten(2, (-1, self.head_dim)).transpose(1, 2)
