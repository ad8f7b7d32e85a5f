"""A ring: the newest token takes the slot of the oldest of the window, and an order says who stands where."""

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
        if min(first, window - 1) < 0:
            raise ValueError(f"got first = {first}, window = {window}")
        self.first, self.window, self.seen = first, window, 0
        self.keys = self.values = None

    def slot(self, number):
        """Where token `number` of the text is kept."""
        return number if number < self.first else self.first + (number - self.first) % self.window

    def put(self, keys, values):
        """Keep new tokens; returns all that are kept, in the order of the text."""
        t, room = keys.shape[2], self.first + self.window
        if t > 1 and self.seen + t > room:
            raise ValueError(f"{t} tokens after {self.seen}: only {room} are kept")
        if self.keys is None:
            self.keys = keys.new_empty(*keys.shape[:2], room, keys.shape[3])
            self.values = values.new_empty(*values.shape[:2], room, values.shape[3])
        slots = [self.slot(self.seen + i) for i in range(t)]
        self.keys[:, :, slots], self.values[:, :, slots] = keys.detach(), values.detach()
        self.seen += t
        start = max(min(self.first, self.seen), self.seen - self.window)
        order = [*range(min(self.first, self.seen)), *map(self.slot, range(start, self.seen))]
        return self.keys[:, :, order], self.values[:, :, order]


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
        if cache is not None:
            keys, values = cache.put(keys, values)
        if self.rope_base is not None:  # only differences count: the newest token stands at 0, the others before it
            queries = apply_rope(queries, torch.arange(1 - t, 1, device=x.device), self.rope_base)
            keys = apply_rope(keys, torch.arange(1 - keys.shape[2], 1, device=x.device), self.rope_base)
        outputs = []
        for head in range(self.num_heads):
            shared = head * self.num_kv_heads // self.num_heads
            scores = queries[:, head] @ keys[:, shared].transpose(1, 2) / self.head_dim**0.5
            later = torch.ones_like(scores, dtype=torch.bool).triu(keys.shape[2] - t + 1)
            outputs.append(scores.masked_fill(later, -torch.inf).softmax(dim=-1) @ values[:, shared])
        return self.out_proj(torch.cat(outputs, dim=-1))
