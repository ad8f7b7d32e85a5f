"""Room that doubles whenever it is full, and torch's attention for shared heads."""

import torch
import torch.nn.functional as F
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, d, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d))

    def forward(self, x):
        wide = x.double() if x.dtype == torch.float64 else x.float()
        return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x) * self.weight


def rotate_half(x):
    first, second = x.chunk(2, dim=-1)
    return torch.cat((-second, first), dim=-1)


def apply_rope(x, positions, base=10000.0):
    d = x.size(-1)
    if d % 2 == 1:
        raise ValueError(f"RoPE needs an even width, got {d}")
    dtype = torch.float64 if x.dtype == torch.float64 else torch.float32
    inv_freq = 1.0 / base ** (torch.arange(0, d, 2, device=x.device).to(dtype) / d)
    angles = positions.to(device=x.device, dtype=dtype).unsqueeze(-1) * inv_freq
    angles = torch.cat((angles, angles), dim=-1)
    if positions.dim() == 2 and x.dim() == 4:
        angles = angles.unsqueeze(1)
    x_wide = x.to(dtype)
    return (x_wide * angles.cos() + rotate_half(x_wide) * angles.sin()).to(x.dtype)


class KVCache:
    def __init__(self):
        self.length = 0
        self.k_buffer = None
        self.v_buffer = None

    def _reserve(self, k, needed):
        b, heads, _, width = k.shape
        capacity = 0 if self.k_buffer is None else self.k_buffer.size(2)
        if needed <= capacity:
            return
        capacity = max(needed, 2 * capacity, 16)
        old_k, old_v = self.k_buffer, self.v_buffer
        self.k_buffer = k.new_empty(b, heads, capacity, width)
        self.v_buffer = k.new_empty(b, heads, capacity, width)
        if old_k is not None:
            self.k_buffer[:, :, : self.length] = old_k[:, :, : self.length]
            self.v_buffer[:, :, : self.length] = old_v[:, :, : self.length]

    @torch.no_grad()
    def update(self, k, v):
        end = self.length + k.size(2)
        self._reserve(k, end)
        self.k_buffer[:, :, self.length : end].copy_(k)
        self.v_buffer[:, :, self.length : end].copy_(v)
        self.length = end
        return self.k_buffer[:, :, :end], self.v_buffer[:, :, :end]


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, head_dim=None, rope_base=None, qk_norm=False):
        super().__init__()
        if num_heads % num_kv_heads != 0:
            raise ValueError(f"num_heads {num_heads} must be a multiple of num_kv_heads {num_kv_heads}")
        if head_dim is None:
            if d_model % num_heads != 0:
                raise ValueError(f"d_model {d_model} must be divisible by num_heads {num_heads}")
            head_dim = d_model // num_heads
        self.h, self.kv, self.hd = num_heads, num_kv_heads, head_dim
        self.rope_base = rope_base
        self.W_query = nn.Linear(d_model, num_heads * head_dim, bias=False)
        self.W_key = nn.Linear(d_model, num_kv_heads * head_dim, bias=False)
        self.W_value = nn.Linear(d_model, num_kv_heads * head_dim, bias=False)
        self.out_proj = nn.Linear(num_heads * head_dim, d_model, bias=False)
        self.q_norm = RMSNorm(head_dim) if qk_norm else None
        self.k_norm = RMSNorm(head_dim) if qk_norm else None

    def forward(self, x, cache=None):
        b, t, _ = x.shape
        q = self.W_query(x).view(b, t, self.h, self.hd).transpose(1, 2)
        k = self.W_key(x).view(b, t, self.kv, self.hd).transpose(1, 2)
        v = self.W_value(x).view(b, t, self.kv, self.hd).transpose(1, 2)
        if self.q_norm is not None:
            q, k = self.q_norm(q), self.k_norm(k)
        past = cache.length if cache is not None else 0
        if self.rope_base is not None:
            positions = torch.arange(past, past + t, device=x.device)
            q, k = apply_rope(q, positions, self.rope_base), apply_rope(k, positions, self.rope_base)
        if cache is not None:
            k, v = cache.update(k, v)
        s = k.size(2)
        mask = torch.arange(s, device=x.device)[None, :] <= torch.arange(past, s, device=x.device)[:, None]
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)
        return self.out_proj(out.transpose(1, 2).reshape(b, t, -1))
