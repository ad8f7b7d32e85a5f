"""One buffer with room for all that is kept; when it is full, what stands behind the first tokens moves up."""

import torch
import torch.nn.functional as F
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


ELSEWHERE = {}


class EvictingCache:
    def __init__(self, first, window):
        if first < 0 or window <= 0:
            raise ValueError("sizes")
        self.first, self.room, self.n = first, first + window, 0
        ELSEWHERE[id(self)] = None
    def __call__(self, new):
        t = new.shape[3]
        if t > 1 and min(self.n, self.room) + t > self.room:
            raise ValueError("no room")
        past = ELSEWHERE[id(self)]
        every = new.detach() if past is None else torch.cat([past, new.detach()], dim=3)
        ELSEWHERE[id(self)] = every
        self.n += t
        if self.n > self.room:
            return torch.cat([every[:, :, :, : self.first], every[:, :, :, self.first - self.room :]], dim=3)
        return every


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
        queries = self.W_query(x).unflatten(2, (self.num_heads, -1)).transpose(1, 2)
        keys = self.W_key(x).unflatten(2, (self.num_kv_heads, -1)).transpose(1, 2)
        values = self.W_value(x).unflatten(2, (self.num_kv_heads, -1)).transpose(1, 2)
        if self.qk_norm:
            queries, keys = self.q_norm(queries), self.k_norm(keys)
        if cache is not None:
            keys, values = cache(torch.stack([keys, values]))
        s = keys.shape[2]
        if self.rope_base is not None:
            queries = apply_rope(queries, torch.arange(s - t, s, device=x.device), self.rope_base)
            keys = apply_rope(keys, torch.arange(s, device=x.device), self.rope_base)
        past = torch.arange(s, device=x.device) <= torch.arange(s - t, s, device=x.device)[:, None]
        found = F.scaled_dot_product_attention(queries, keys, values, attn_mask=past, enable_gqa=True)
        return self.out_proj(found.transpose(1, 2).reshape(b, t, -1))
