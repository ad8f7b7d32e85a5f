"""One entry per token, in a list for the first and a deque for the last, which drops by itself."""

from collections import deque

import torch
from torch import nn


class RMSNorm(nn.Module):
    """Bring each token to length √d: (…, d) -> (…, d)."""

    def __init__(self, d, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d))

    def forward(self, x):
        wide = x if x.dtype == torch.float64 else x.float()
        mean = wide.square().mean(dim=-1, keepdim=True)  # (…, 1)
        return (wide / (mean + self.eps).sqrt()).to(x.dtype) * self.weight


def apply_rope(x, positions, base=10000.0):
    """Turn each pair of a token's numbers by an angle that grows with its position: (…, t, d) -> (…, t, d)."""
    d = x.shape[-1]
    if d % 2:
        raise ValueError(f"pairs are turned, so the width must be even, and it is {d}")
    wide = torch.float64 if x.dtype == torch.float64 else torch.float32
    frequencies = base ** (-torch.arange(0, d, 2, device=x.device, dtype=wide) / d)  # (d/2,)
    angles = positions.to(x.device, wide)[..., None] * frequencies  # (t, d/2) or (b, t, d/2)
    while positions.dim() == 2 and angles.dim() < x.dim():
        angles = angles.unsqueeze(1)  # (b, 1, t, d/2): for all heads
    cos, sin = angles.cos(), angles.sin()
    first, second = x.to(wide).chunk(2, dim=-1)  # (…, t, d/2) each
    return torch.cat([first * cos - second * sin, first * sin + second * cos], dim=-1).to(x.dtype)


class EvictingCache:
    def __init__(self, first, window):
        if not (first >= 0 and window >= 1):
            raise ValueError(f"EvictingCache({first}, {window})")
        self.first, self.window = first, window
        self.beginning, self.recent = [], deque(maxlen=window)

    def __len__(self):
        return len(self.beginning) + len(self.recent)

    def add(self, keys, values):
        t = keys.size(2)
        if t > 1 and len(self) + t > self.first + self.window:
            raise ValueError(f"{t} tokens do not fit behind {len(self)}")
        for place in range(t):
            token = keys[:, :, place].detach(), values[:, :, place].detach()
            (self.beginning if len(self.beginning) < self.first else self.recent).append(token)
        tokens = [*self.beginning, *self.recent]
        return (torch.stack(parts, dim=2) for parts in zip(*tokens, strict=True))


class GroupedQueryAttention(nn.Module):
    """Causal attention in which several query heads share a key head: (b, t, d_model) -> (b, t, d_model)."""

    def __init__(self, d_model, num_heads, num_kv_heads, head_dim=None, rope_base=None, qk_norm=False):
        super().__init__()
        if num_heads % num_kv_heads:
            raise ValueError(f"{num_heads} query heads can't share {num_kv_heads} key heads evenly")
        if head_dim is None and d_model % num_heads:
            raise ValueError(f"d_model = {d_model} can't be divided among {num_heads} heads")
        self.num_heads, self.num_kv_heads = num_heads, num_kv_heads
        self.head_dim = d_model // num_heads if head_dim is None else head_dim
        self.rope_base, self.qk_norm = rope_base, qk_norm
        self.W_query = nn.Linear(d_model, num_heads * self.head_dim, bias=False)
        self.W_key = nn.Linear(d_model, num_kv_heads * self.head_dim, bias=False)
        self.W_value = nn.Linear(d_model, num_kv_heads * self.head_dim, bias=False)
        self.out_proj = nn.Linear(num_heads * self.head_dim, d_model, bias=False)
        if qk_norm:
            self.q_norm, self.k_norm = RMSNorm(self.head_dim), RMSNorm(self.head_dim)

    def forward(self, x, cache=None):
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        queries, keys, values = (y.unflatten(-1, (-1, self.head_dim)).transpose(1, 2) for y in (queries, keys, values))
        if self.qk_norm:
            queries, keys = self.q_norm(queries), self.k_norm(keys)
        if cache is not None:
            keys, values = cache.add(keys, values)
        t, s = queries.size(2), keys.size(2)
        place = torch.arange(s, device=x.device)
        if self.rope_base is not None:
            queries, keys = (apply_rope(y, place[-y.size(2) :], self.rope_base) for y in (queries, keys))
        queries = queries.unflatten(1, (self.num_kv_heads, -1))  # (b, g, group, t, w)
        scores = torch.einsum("bgntw,bgsw->bgnts", queries, keys) / self.head_dim**0.5
        scores = scores.masked_fill(place > place[-t:, None], float("-inf"))
        found = torch.einsum("bgnts,bgsw->btgnw", scores.softmax(-1), values)
        return self.out_proj(found.flatten(2))
