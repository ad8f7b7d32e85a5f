# wrong: with a cache nothing is masked (right for one token only); repeated heads are cached
# expect: no-mask-in-later-parts, query-heads-cached
# also: no-mask-with-a-cache
import torch
import torch.nn.functional as F
from torch import nn


class KVCache:
    def __init__(self):
        self.keys, self.values, self.length = None, None, 0

    def append(self, keys, values):
        if self.length > 0:
            keys = torch.cat([self.keys, keys], dim=-2)
            values = torch.cat([self.values, values], dim=-2)
        self.keys, self.values = keys, values
        self.length = keys.shape[-2]
        return keys, values


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, head_dim=None, rope_base=None, qk_norm=False):
        super().__init__()
        if num_heads % num_kv_heads:
            raise ValueError(f"{num_kv_heads} key heads don't divide {num_heads} query heads")
        if head_dim is None:
            if d_model % num_heads:
                raise ValueError(f"{num_heads} heads don't divide d_model = {d_model}")
            head_dim = d_model // num_heads
        self.num_heads, self.num_kv_heads, self.head_dim = num_heads, num_kv_heads, head_dim
        self.rope_base, self.qk_norm = rope_base, qk_norm
        self.W_query = nn.Linear(d_model, num_heads * head_dim, bias=False)
        self.W_key = nn.Linear(d_model, num_kv_heads * head_dim, bias=False)
        self.W_value = nn.Linear(d_model, num_kv_heads * head_dim, bias=False)
        self.out_proj = nn.Linear(num_heads * head_dim, d_model, bias=False)
        if qk_norm:
            self.q_norm = RMSNorm(head_dim)
            self.k_norm = RMSNorm(head_dim)

    def forward(self, x, cache=None):
        b, t, _ = x.shape
        offset = cache.length if cache is not None else 0
        q = self.W_query(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        k = self.W_key(x).view(b, t, self.num_kv_heads, self.head_dim).transpose(1, 2)
        v = self.W_value(x).view(b, t, self.num_kv_heads, self.head_dim).transpose(1, 2)
        if self.qk_norm:
            q, k = self.q_norm(q), self.k_norm(k)
        if self.rope_base is not None:
            p = offset + torch.arange(t, device=x.device)
            q, k = apply_rope(q, p, self.rope_base), apply_rope(k, p, self.rope_base)
        k = k.repeat_interleave(self.num_heads // self.num_kv_heads, dim=1)
        v = v.repeat_interleave(self.num_heads // self.num_kv_heads, dim=1)
        if cache is not None:
            k, v = cache.append(k, v)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=offset == 0)
        return self.out_proj(y.transpose(1, 2).flatten(2))
