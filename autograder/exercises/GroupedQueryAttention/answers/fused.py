"""Query, key and value by one product with the stacked weights; torch's own norm, complex numbers for a rotation."""

import torch
import torch.nn.functional as F
from torch import nn


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
        self.num_heads, self.num_kv_heads, self.head_dim = num_heads, num_kv_heads, head_dim
        self.rope_base, self.qk_norm = rope_base, qk_norm
        self.W_query = nn.Linear(d_model, num_heads * head_dim, bias=False)
        self.W_key = nn.Linear(d_model, num_kv_heads * head_dim, bias=False)
        self.W_value = nn.Linear(d_model, num_kv_heads * head_dim, bias=False)
        self.out_proj = nn.Linear(num_heads * head_dim, d_model, bias=False)
        if qk_norm:
            self.q_norm = nn.RMSNorm(head_dim, eps=1e-6)
            self.k_norm = nn.RMSNorm(head_dim, eps=1e-6)

    @staticmethod
    def spin(z, base):
        t, w = z.shape[-2:]
        exact = z.double()
        pairs = torch.complex(exact[..., : w // 2], exact[..., w // 2 :])
        steps = torch.arange(w // 2, device=z.device, dtype=torch.float64) * (2 / w)
        angles = torch.outer(torch.arange(t, device=z.device, dtype=torch.float64), base**-steps)
        turned = pairs * torch.polar(torch.ones_like(angles), angles)
        return torch.cat([turned.real, turned.imag], dim=-1).to(z.dtype)

    def forward(self, x):
        b, t, _ = x.shape
        weight = torch.cat([self.W_query.weight, self.W_key.weight, self.W_value.weight])
        cut = (self.num_heads, self.num_kv_heads, self.num_kv_heads)
        q, k, v = F.linear(x, weight).unflatten(2, (-1, self.head_dim)).transpose(1, 2).split(cut, dim=1)
        if self.qk_norm:
            q, k = self.q_norm(q), self.k_norm(k)
        if self.rope_base is not None:
            q, k = self.spin(q, self.rope_base), self.spin(k, self.rope_base)
        owner = torch.arange(self.num_heads, device=x.device) // (self.num_heads // self.num_kv_heads)
        q, k, v = (z.contiguous() for z in (q, k[:, owner], v[:, owner]))
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out_proj(out.transpose(1, 2).flatten(2))
