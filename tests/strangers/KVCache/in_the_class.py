# wrong: the lists stand in the class body, so all caches share them
# expect: shared-by-all-caches
import torch
import torch.nn.functional as F
from torch import nn


class KVCache:
    """The keys and values of all tokens so far, of one layer and one batch."""

    keys = []
    values = []

    def __init__(self):
        pass

    def __len__(self):
        return sum(k.shape[2] for k in self.keys)

    def add(self, k, v):
        self.keys.append(k)
        self.values.append(v)
        return torch.cat(self.keys, dim=2), torch.cat(self.values, dim=2)


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
        if x.dim() != 3:
            raise ValueError(f"x should be (b, t, d_model), not {tuple(x.shape)}")
        t = x.shape[1]
        start = 0 if cache is None else len(cache)
        q = self.W_query(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
        k = self.W_key(x).unflatten(-1, (self.num_kv_heads, -1)).transpose(1, 2)
        v = self.W_value(x).unflatten(-1, (self.num_kv_heads, -1)).transpose(1, 2)
        if self.qk_norm:
            q = self.q_norm(q)
            k = self.k_norm(k)
        if self.rope_base is not None:
            pos = torch.arange(start, start + t, device=x.device)
            q = apply_rope(q, pos, self.rope_base)
            k = apply_rope(k, pos, self.rope_base)
        if cache is not None:
            k, v = cache.add(k, v)
        rep = self.num_heads // self.num_kv_heads
        k, v = k.repeat_interleave(rep, 1), v.repeat_interleave(rep, 1)
        mask = torch.ones(t, k.shape[2], dtype=torch.bool, device=x.device).tril(start)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.out_proj(y.transpose(1, 2).flatten(2))
