"""A list of pairs, put together at each call, and torch's own mask for queries at the end."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention.bias import causal_lower_right


class RMSNorm(nn.Module):
    def __init__(self, d: int, eps: float = 1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d))
        self.eps = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        dtype = torch.promote_types(x.dtype, torch.float32)
        y = x.to(dtype)
        y = y / torch.sqrt(torch.mean(y * y, dim=-1, keepdim=True) + self.eps)
        return (y * self.weight.to(dtype)).to(x.dtype)


def apply_rope(x: torch.Tensor, positions: torch.Tensor, base: float = 10000.0) -> torch.Tensor:
    d = x.shape[-1]
    if d % 2 != 0:
        raise ValueError(f"expected an even width, got {d}")
    dtype = torch.promote_types(x.dtype, torch.float32)
    exponent = -torch.arange(d // 2, dtype=dtype, device=x.device) * 2 / d
    angle = positions.to(x.device).to(dtype).unsqueeze(-1) * torch.pow(base, exponent)
    if positions.ndim == 2:
        angle = angle.reshape(angle.shape[0], *[1] * (x.ndim - 3), *angle.shape[1:])
    x1, x2 = x.to(dtype).split(d // 2, dim=-1)
    sin, cos = torch.sin(angle), torch.cos(angle)
    return torch.cat((x1 * cos - x2 * sin, x1 * sin + x2 * cos), dim=-1).to(x.dtype)


class KVCache:
    """What has been seen so far, as it came."""

    def __init__(self) -> None:
        self.parts: list[tuple[torch.Tensor, torch.Tensor]] = []

    def __len__(self) -> int:
        return sum(k.shape[-2] for k, _ in self.parts)

    def add(self, k: torch.Tensor, v: torch.Tensor) -> None:
        self.parts.append((k.detach(), v.detach()))

    def all(self) -> tuple[torch.Tensor, torch.Tensor]:
        keys, values = zip(*self.parts, strict=True)
        return torch.cat(keys, dim=-2), torch.cat(values, dim=-2)


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, head_dim=None, rope_base=None, qk_norm=False):
        super().__init__()
        if num_heads % num_kv_heads:
            raise ValueError(f"{num_heads} heads cannot share {num_kv_heads}")
        if head_dim is None and d_model % num_heads:
            raise ValueError(f"{d_model} is not divisible by {num_heads}")
        self.heads = num_heads
        self.groups = num_heads // num_kv_heads
        self.head_dim = head_dim or d_model // num_heads
        self.rope_base = rope_base
        self.W_query = nn.Linear(d_model, self.head_dim * num_heads, bias=False)
        self.W_key = nn.Linear(d_model, self.head_dim * num_kv_heads, bias=False)
        self.W_value = nn.Linear(d_model, self.head_dim * num_kv_heads, bias=False)
        self.out_proj = nn.Linear(self.head_dim * num_heads, d_model, bias=False)
        if qk_norm:
            self.q_norm = RMSNorm(self.head_dim)
            self.k_norm = RMSNorm(self.head_dim)
        self.qk_norm = qk_norm

    def split(self, x: torch.Tensor) -> torch.Tensor:
        return x.unflatten(-1, (-1, self.head_dim)).transpose(-2, -3)

    def forward(self, x: torch.Tensor, cache: KVCache | None = None) -> torch.Tensor:
        q, k, v = self.split(self.W_query(x)), self.split(self.W_key(x)), self.split(self.W_value(x))
        if self.qk_norm:
            q, k = self.q_norm(q), self.k_norm(k)
        if self.rope_base is not None:
            offset = len(cache) if cache is not None else 0
            positions = torch.arange(x.shape[1], device=x.device) + offset
            q = apply_rope(q, positions, self.rope_base)
            k = apply_rope(k, positions, self.rope_base)
        if cache is not None:
            cache.add(k, v)
            k, v = cache.all()
        k = k.repeat_interleave(self.groups, dim=1)
        v = v.repeat_interleave(self.groups, dim=1)
        mask = causal_lower_right(q.shape[2], k.shape[2])
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.out_proj(out.transpose(1, 2).flatten(-2))
