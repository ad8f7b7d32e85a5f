"""einsum over groups: keys keep their heads, queries get a dimension for their place in the group."""

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
        self.num_kv_heads, self.group, self.head_dim = num_kv_heads, num_heads // num_kv_heads, head_dim
        self.rope_base, self.qk_norm = rope_base, qk_norm
        self.W_query = nn.Linear(d_model, num_heads * head_dim, bias=False)
        self.W_key = nn.Linear(d_model, num_kv_heads * head_dim, bias=False)
        self.W_value = nn.Linear(d_model, num_kv_heads * head_dim, bias=False)
        self.out_proj = nn.Linear(num_heads * head_dim, d_model, bias=False)
        if qk_norm:
            self.q_norm = RMSNorm(head_dim)
            self.k_norm = RMSNorm(head_dim)

    def forward(self, x):
        b, t, _ = x.shape
        q = torch.unflatten(self.W_query(x), -1, (self.num_kv_heads, self.group, self.head_dim))
        k = torch.unflatten(self.W_key(x), -1, (self.num_kv_heads, self.head_dim))
        v = torch.unflatten(self.W_value(x), -1, (self.num_kv_heads, self.head_dim))
        if self.qk_norm:
            q, k = self.q_norm(q), self.k_norm(k)
        q, k = q.permute(0, 2, 3, 1, 4), k.transpose(1, 2)  # (b, kv, g, t, w), (b, kv, t, w)
        if self.rope_base is not None:
            places = torch.arange(t, device=x.device)
            q, k = (apply_rope(z, places, base=self.rope_base) for z in (q, k))
        scores = torch.einsum("bkgiw,bkjw->bkgij", q * self.head_dim**-0.5, k)
        hidden = torch.full((t, t), float("-inf"), dtype=x.dtype, device=x.device).triu(1)
        weights = (scores + hidden).softmax(-1)
        found = torch.einsum("bkgij,bjkw->bikgw", weights, v)
        return self.out_proj(found.flatten(2))
