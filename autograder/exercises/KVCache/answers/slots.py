"""A cache with slots, which is asked to attend itself; a loop over key heads."""

import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, d, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d))

    def forward(self, x):
        square = x.double().square().mean(dim=-1, keepdim=True)
        return (x.double() / torch.sqrt(square + self.eps)).to(x.dtype) * self.weight


def apply_rope(x, positions, base=10000.0):
    d = x.shape[-1]
    if d % 2:
        raise ValueError(f"d must be even: {d}")
    out = torch.empty_like(x, dtype=torch.float64)
    at = positions.to(x.device).double()
    if at.dim() == 2:
        at = at.reshape(at.shape[0], *[1] * (x.dim() - 3), at.shape[1])
    for i in range(d // 2):
        angle = at * base ** (-2 * i / d)
        out[..., i] = x[..., i] * angle.cos() - x[..., i + d // 2] * angle.sin()
        out[..., i + d // 2] = x[..., i] * angle.sin() + x[..., i + d // 2] * angle.cos()
    return out.to(x.dtype)


class KVCache:
    __slots__ = ("_k", "_v")

    def __init__(self):
        self._k, self._v = (), ()

    def append(self, k, v):
        self._k += (k,)
        self._v += (v,)

    @property
    def k(self):
        return torch.cat(self._k, dim=1)

    @property
    def v(self):
        return torch.cat(self._v, dim=1)

    def __len__(self):
        return sum(k.shape[1] for k in self._k)


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, head_dim=None, rope_base=None, qk_norm=False):
        super().__init__()
        if num_heads % num_kv_heads:
            raise ValueError(f"got {num_heads} heads and {num_kv_heads} key heads")
        if head_dim is None and d_model % num_heads:
            raise ValueError(f"got a width of {d_model} and {num_heads} heads")
        w = head_dim if head_dim is not None else d_model // num_heads
        self.sizes = num_heads, num_kv_heads, w
        self.rope_base = rope_base
        self.W_query = nn.Linear(d_model, num_heads * w, bias=False)
        self.W_key = nn.Linear(d_model, num_kv_heads * w, bias=False)
        self.W_value = nn.Linear(d_model, num_kv_heads * w, bias=False)
        self.out_proj = nn.Linear(num_heads * w, d_model, bias=False)
        self.q_norm = RMSNorm(w) if qk_norm else nn.Identity()
        self.k_norm = RMSNorm(w) if qk_norm else nn.Identity()

    def forward(self, x, cache=None):
        h, kv, w = self.sizes
        b, t, _ = x.shape
        if cache is None:
            cache = KVCache()
        begin = len(cache)
        where = torch.arange(begin, begin + t, device=x.device)
        q = self.q_norm(self.W_query(x).view(b, t, h, w))
        k = self.k_norm(self.W_key(x).view(b, t, kv, w))
        v = self.W_value(x).view(b, t, kv, w)
        if self.rope_base is not None:
            q = apply_rope(q.transpose(1, 2), where, self.rope_base).transpose(1, 2)
            k = apply_rope(k.transpose(1, 2), where, self.rope_base).transpose(1, 2)
        cache.append(k, v)
        keys, values = cache.k, cache.v  # (b, s, kv, w)
        ahead = torch.arange(begin + t, device=x.device)[None, :] > where[:, None]
        found = []
        for head in range(h):
            shared = head * kv // h
            scores = q[:, :, head] @ keys[:, :, shared].transpose(1, 2) / w**0.5
            weights = torch.softmax(scores.masked_fill(ahead, float("-inf")), dim=-1)
            found.append(weights @ values[:, :, shared])  # (b, t, w)
        return self.out_proj(torch.cat(found, dim=-1))
