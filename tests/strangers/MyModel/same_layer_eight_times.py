# wrong: one layer used 8 times: few weights, but far more than 250,000 multiplications a token (and a cache for each round)
# expect: too-many-products
# also: too-many-bytes
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
        if self.keys is not None:
            keys, values = torch.cat([self.keys, keys], dim=2), torch.cat([self.values, values], dim=2)
        self.keys, self.values = keys, values
        return keys, values


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
        mask = torch.ones(t, s, dtype=torch.bool, device=x.device).tril(s - t)
        weights = scores.masked_fill(~mask, -math.inf).softmax(dim=-1)
        out = weights @ v
        return self.out_proj(out.transpose(1, 2).flatten(2))


class MyModel(nn.Module):
    """A universal transformer: the same block again and again, so that few weights go deep."""

    ROUNDS = 8

    def __init__(self, vocab_size):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, 32)
        nn.init.normal_(self.embed.weight, std=0.5)
        self.n1, self.n2, self.nf = RMSNorm(32), RMSNorm(32), RMSNorm(32)
        self.attention, self.mlp = GroupedQueryAttention(32, 4, 1), SwiGLU(32, 64)
        self.logits = nn.Linear(32, vocab_size, bias=False)

    def through(self, idx, caches):
        x = self.embed(idx)
        for cache in caches:
            x = x + self.attention(self.n1(x), cache)
            x = x + self.mlp(self.n2(x))
        return self.logits(self.nf(x))

    def forward(self, idx):
        return self.through(idx, [None] * self.ROUNDS)

    def step(self, token, state=None):
        caches = [KVCache() for _ in range(self.ROUNDS)]
        for n, cache in enumerate(caches):
            if state is not None:
                cache.keys, cache.values = state[2 * n : 2 * n + 2]
        out = self.through(token[:, None], caches)[:, 0]
        return out, sum(([c.keys, c.values] for c in caches), [])
