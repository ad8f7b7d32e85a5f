# wrong: in step the cache gives back the keys before the new one is added: the token does not see itself
# expect: stands-on-KVCache
import math

import torch
from torch import nn
import torch.nn.functional as F


class RMSNorm(nn.Module):
    def __init__(self, d, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d))
        self.eps = eps

    def forward(self, x):
        return x * (x.pow(2).mean(-1, keepdim=True) + self.eps).rsqrt() * self.weight


class SwiGLU(nn.Module):
    def __init__(self, d, hidden):
        super().__init__()
        self.W_gate = nn.Linear(d, hidden, bias=False)
        self.W_up = nn.Linear(d, hidden, bias=False)
        self.W_down = nn.Linear(hidden, d, bias=False)

    def forward(self, x):
        return self.W_down(F.silu(self.W_gate(x)) * self.W_up(x))


class KVCache:
    def __init__(self):
        self.keys, self.values = None, None

    @property
    def length(self):
        return 0 if self.keys is None else self.keys.shape[2]

    def extend(self, keys, values):
        if self.keys is None:
            self.keys, self.values = keys, values
            return keys, values
        old_keys, old_values = self.keys, self.values
        self.keys, self.values = torch.cat([self.keys, keys], dim=2), torch.cat([self.values, values], dim=2)
        return old_keys, old_values


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads):
        super().__init__()
        self.num_heads, self.num_kv_heads, self.head_dim = num_heads, num_kv_heads, d_model // num_heads
        self.W_query = nn.Linear(d_model, d_model, bias=False)
        self.W_key = nn.Linear(d_model, num_kv_heads * self.head_dim, bias=False)
        self.W_value = nn.Linear(d_model, num_kv_heads * self.head_dim, bias=False)
        self.out_proj = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x, cache=None):
        b, t, _ = x.shape
        q = self.W_query(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        k = self.W_key(x).view(b, t, self.num_kv_heads, self.head_dim).transpose(1, 2)
        v = self.W_value(x).view(b, t, self.num_kv_heads, self.head_dim).transpose(1, 2)
        if cache is not None:
            k, v = cache.extend(k, v)
        s, group = k.shape[2], self.num_heads // self.num_kv_heads
        k, v = k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1)
        scores = q @ k.mT / self.head_dim**0.5
        mask = torch.ones(t, s, dtype=torch.bool, device=x.device).tril(max(s - t, 0)) if t > 1 else torch.ones(t, s, dtype=torch.bool)
        weights = scores.masked_fill(~mask, -math.inf).softmax(dim=-1)
        out = weights @ v
        return self.out_proj(out.transpose(1, 2).flatten(2))


class MyModel(nn.Module):
    def __init__(self, vocab_size):
        super().__init__()
        d = 32
        self.embedding = nn.Embedding(vocab_size, d)
        nn.init.normal_(self.embedding.weight, std=0.5)
        self.attention = nn.ModuleList(GroupedQueryAttention(d, 4, 1) for _ in range(2))
        self.mlp = nn.ModuleList(SwiGLU(d, 64) for _ in range(2))
        self.norm1 = nn.ModuleList(RMSNorm(d) for _ in range(2))
        self.norm2 = nn.ModuleList(RMSNorm(d) for _ in range(2))
        self.norm = RMSNorm(d)
        self.head = nn.Linear(d, vocab_size, bias=False)

    def through(self, idx, caches):
        x = self.embedding(idx)
        for att, mlp, n1, n2, cache in zip(self.attention, self.mlp, self.norm1, self.norm2, caches):
            x = x + att(n1(x), cache)
            x = x + mlp(n2(x))
        return self.head(self.norm(x))

    def forward(self, idx):
        return self.through(idx, [None, None])

    def step(self, token, state=None):
        caches = [KVCache(), KVCache()]
        if state is not None:
            for i, cache in enumerate(caches):
                cache.keys, cache.values = state[2 * i], state[2 * i + 1]
        logits = self.through(token[:, None], caches)
        return logits[:, 0], [x for cache in caches for x in (cache.keys, cache.values)]
