"""Keys are cached rotated for their places within the cache, and turned back by one when they move."""

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
        if first < 0 or window < 1:
            raise ValueError(f"{first=}, {window=}")
        self.first, self.window, self.keys, self.values = first, window, None, None

    @property
    def held(self):
        return 0 if self.keys is None else self.keys.shape[2]

    def make_room(self, new, rope_base):
        """Before new tokens come: drop one if it has to be."""
        if self.held + new <= self.first + self.window:
            return
        if new > 1:
            raise ValueError(f"{new} tokens, {self.held} held, {self.first} + {self.window} at most")
        moved = self.keys[:, :, self.first + 1 :]
        if rope_base is not None and moved.shape[2]:
            back = -torch.ones(moved.shape[2], device=moved.device)
            moved = apply_rope(moved, back, rope_base)
        self.keys = torch.cat([self.keys[:, :, : self.first], moved], dim=2)
        self.values = torch.cat([self.values[:, :, : self.first], self.values[:, :, self.first + 1 :]], dim=2)

    def extend(self, keys, values):
        self.keys = keys.detach() if self.keys is None else torch.cat([self.keys, keys.detach()], dim=2)
        self.values = values.detach() if self.values is None else torch.cat([self.values, values.detach()], dim=2)
        return self.keys, self.values


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
        b, t, _ = x.shape
        queries = self.W_query(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        keys = self.W_key(x).view(b, t, self.num_kv_heads, self.head_dim).transpose(1, 2)
        values = self.W_value(x).view(b, t, self.num_kv_heads, self.head_dim).transpose(1, 2)
        if self.qk_norm:
            queries, keys = self.q_norm(queries), self.k_norm(keys)
        start = 0
        if cache is not None:
            cache.make_room(t, self.rope_base)
            start = cache.held
        if self.rope_base is not None:
            places = torch.arange(start, start + t, device=x.device)
            queries, keys = apply_rope(queries, places, self.rope_base), apply_rope(keys, places, self.rope_base)
        if cache is not None:
            keys, values = cache.extend(keys, values)
        group = self.num_heads // self.num_kv_heads
        keys, values = keys.repeat_interleave(group, dim=1), values.repeat_interleave(group, dim=1)
        scores = queries @ keys.mT / self.head_dim**0.5
        past = torch.ones(t, keys.shape[2], dtype=torch.bool, device=x.device).tril(start)
        return self.out_proj((scores.masked_fill(~past, -torch.inf).softmax(-1) @ values).transpose(1, 2).flatten(2))
