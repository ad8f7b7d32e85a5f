# wrong: the layers are in a Python list: their weights are not registered, not trained and not in state_dict
# expect: layers-not-registered
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


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.att, self.mlp = GroupedQueryAttention(d, 4, 1), SwiGLU(d, 64)
        self.n1, self.n2 = RMSNorm(d), RMSNorm(d)

    def forward(self, x, cache):
        x = x + self.att(self.n1(x), cache)
        return x + self.mlp(self.n2(x))


class MyModel(nn.Module):
    def __init__(self, vocab_size):
        super().__init__()
        self.tok = nn.Embedding(vocab_size, 32)
        nn.init.normal_(self.tok.weight, 0.0, 0.5)
        self.blocks = [Block(32) for _ in range(2)]
        self.norm = RMSNorm(32)
        self.head = nn.Linear(32, vocab_size, bias=False)

    def forward(self, idx):
        return self.through(idx, [None] * len(self.blocks))

    def step(self, token, state=None):
        caches = [KVCache() for _ in self.blocks]
        if state:
            for n, cache in enumerate(caches):
                cache.keys = state[n]
                cache.values = state[n + len(caches)]
        logits = self.through(token.view(-1, 1), caches)[:, -1, :]
        return logits, [c.keys for c in caches] + [c.values for c in caches]

    def through(self, idx, caches):
        x = self.tok(idx)
        for block, cache in zip(self.blocks, caches):
            x = block(x, cache)
        return self.head(self.norm(x))
