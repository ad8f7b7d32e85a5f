"""A loop over the query heads; each cuts out its own rows. `apply_rope` stands beside it, and is not used."""

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
        self.sizes, self.base, self.qk_norm = (num_heads, num_kv_heads, head_dim), rope_base, qk_norm
        self.W_query = nn.Linear(d_model, num_heads * head_dim, bias=False)
        self.W_key = nn.Linear(d_model, num_kv_heads * head_dim, bias=False)
        self.W_value = nn.Linear(d_model, num_kv_heads * head_dim, bias=False)
        self.out_proj = nn.Linear(num_heads * head_dim, d_model, bias=False)
        if qk_norm:
            self.q_norm = RMSNorm(head_dim)
            self.k_norm = RMSNorm(head_dim)

    def turned(self, z):
        """(b, t, w) -> (b, t, w)."""
        if self.base is None:
            return z
        t, half = z.shape[1], z.shape[2] // 2
        wide = z.double() if z.dtype == torch.float64 else z.float()
        angles = torch.arange(t, device=z.device, dtype=wide.dtype)[:, None]
        angles = angles * self.base ** (-torch.arange(half, device=z.device, dtype=wide.dtype) / half)
        first, second = wide[..., :half], wide[..., half:]
        turned = [first * angles.cos() - second * angles.sin(), first * angles.sin() + second * angles.cos()]
        return torch.cat(turned, dim=-1).to(z.dtype)

    def forward(self, x):
        if x.dim() != 3:
            raise ValueError(f"three dimensions, not {x.dim()}")
        heads, kv, w = self.sizes
        t = x.shape[1]
        q, k, v = self.W_query(x).split(w, -1), self.W_key(x).split(w, -1), self.W_value(x).split(w, -1)
        later = torch.arange(t, device=x.device)[None] > torch.arange(t, device=x.device)[:, None]
        found = []
        for head in range(heads):
            mine = head // (heads // kv)
            query, key = q[head], k[mine]
            if self.qk_norm:
                query, key = self.q_norm(query), self.k_norm(key)
            scores = torch.bmm(self.turned(query), self.turned(key).transpose(1, 2)) / w**0.5
            found.append(torch.bmm(scores.masked_fill(later, float("-inf")).softmax(2), v[mine]))
        return self.out_proj(torch.cat(found, dim=2))
