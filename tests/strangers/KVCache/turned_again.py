# wrong: all keys are turned after they come out of the cache, and the turned ones were put into it, so old keys turn twice
# expect: rotated-further-each-time
# also: rotated-twice
import torch
from torch import nn


class KVCache:
    def __init__(self):
        self.k = None
        self.v = None

    def length(self):
        return 0 if self.k is None else self.k.shape[2]


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
        b, t, d = x.shape
        q = self.W_query(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        k = self.W_key(x).view(b, t, self.num_kv_heads, self.head_dim).transpose(1, 2)
        v = self.W_value(x).view(b, t, self.num_kv_heads, self.head_dim).transpose(1, 2)
        if self.qk_norm:
            q, k = self.q_norm(q), self.k_norm(k)
        past = 0
        if cache is not None and cache.k is not None:
            past = cache.length()
            k = torch.cat((cache.k, k), dim=2)
            v = torch.cat((cache.v, v), dim=2)
        s = k.shape[2]
        if self.rope_base is not None:
            q = apply_rope(q, torch.arange(past, s, device=x.device), self.rope_base)
            k = apply_rope(k, torch.arange(s, device=x.device), self.rope_base)
        if cache is not None:
            cache.k, cache.v = k.detach(), v.detach()
        groups = self.num_heads // self.num_kv_heads
        kk = k.repeat_interleave(groups, dim=1)
        vv = v.repeat_interleave(groups, dim=1)
        scores = q @ kk.transpose(-1, -2) / self.head_dim**0.5
        rows = torch.arange(past, s, device=x.device)[:, None]
        columns = torch.arange(s, device=x.device)[None, :]
        scores = scores.masked_fill(columns > rows, -torch.inf)
        y = scores.softmax(-1) @ vv
        return self.out_proj(y.transpose(1, 2).reshape(b, t, self.num_heads * self.head_dim))
