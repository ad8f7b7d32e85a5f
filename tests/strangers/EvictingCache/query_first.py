# wrong: the query is always rotated as if it came first, at places 0 to t - 1; keys are placed within the cache
# expect: query-at-place-0
import torch
from torch import nn


class EvictingCache:
    def __init__(self, first, window):
        if first < 0:
            raise ValueError(f"first should be 0 or more, got {first}")
        if window < 1:
            raise ValueError(f"window should be 1 or more, got {window}")
        self.first = first
        self.window = window
        self.keys = self.values = None

    def extend(self, keys, values):
        t = keys.shape[2]
        keys, values = keys.detach(), values.detach()
        if self.keys is not None:
            keys = torch.cat([self.keys, keys], dim=2)
            values = torch.cat([self.values, values], dim=2)
        dropped = keys.shape[2] - self.first - self.window
        if dropped > 0:
            if t > 1:
                raise ValueError("several tokens at once would drop something")
            keys = torch.cat([keys[:, :, : self.first], keys[:, :, self.first + dropped :]], dim=2)
            values = torch.cat([values[:, :, : self.first], values[:, :, self.first + dropped :]], dim=2)
        self.keys, self.values = keys, values
        return keys, values


class GroupedQueryAttention(nn.Module):
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
            keys, values = cache.extend(keys, values)
        if self.rope_base is not None:
            n = keys.shape[2]
            queries = apply_rope(queries, torch.arange(t, device=x.device), self.rope_base)
            keys = apply_rope(keys, torch.arange(n, device=x.device), self.rope_base)
        s = keys.shape[2]
        group = self.num_heads // self.num_kv_heads
        keys, values = keys.repeat_interleave(group, dim=1), values.repeat_interleave(group, dim=1)
        scores = queries @ keys.transpose(2, 3) / self.head_dim**0.5
        past = torch.ones(t, s, dtype=torch.bool, device=x.device).tril(s - t)
        weights = scores.masked_fill(~past, -torch.inf).softmax(dim=-1)
        return self.out_proj((weights @ values).transpose(1, 2).flatten(2))
