import torch
import torch.nn.functional as F
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, d, eps=1e-6):
        super().__init__()
        self.eps, self.weight = eps, nn.Parameter(torch.ones(d))

    def forward(self, x):
        return x * (x.square().mean(dim=-1, keepdim=True) + self.eps).rsqrt() * self.weight


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
        self.keys = self.values = None

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
        self.W_query = nn.Linear(d_model, num_heads * self.head_dim, bias=False)
        self.W_key = nn.Linear(d_model, num_kv_heads * self.head_dim, bias=False)
        self.W_value = nn.Linear(d_model, num_kv_heads * self.head_dim, bias=False)
        self.out_proj = nn.Linear(num_heads * self.head_dim, d_model, bias=False)

    def forward(self, x, cache=None):
        queries, keys, values = (
            made(x).unflatten(2, (-1, self.head_dim)).transpose(1, 2)
            for made in (self.W_query, self.W_key, self.W_value)
        )
        start = 0 if cache is None else cache.length
        if cache is not None:
            keys, values = cache.extend(keys, values)
        group = self.num_heads // self.num_kv_heads
        scores = queries @ keys.repeat_interleave(group, dim=1).transpose(2, 3) / self.head_dim**0.5
        past = torch.ones(scores.shape[-2:], dtype=torch.bool).tril(start)
        weights = scores.masked_fill(~past, -torch.inf).softmax(dim=-1)
        return self.out_proj((weights @ values.repeat_interleave(group, dim=1)).transpose(1, 2).flatten(2))


class MyModel(nn.Module):
    def __init__(self, vocab_size, d=32, layers=2):
        super().__init__()
        self.tokens = nn.Embedding(vocab_size, d)
        nn.init.normal_(self.tokens.weight, std=0.5)
        self.attend = nn.ModuleList([GroupedQueryAttention(d, 4, 1) for _ in range(layers)])
        self.think = nn.ModuleList([SwiGLU(d, 64) for _ in range(layers)])
        self.norms = nn.ModuleList([RMSNorm(d) for _ in range(2 * layers + 1)])
        self.logits = nn.Linear(d, vocab_size, bias=False)

    def forward(self, idx, caches=None):
        x = self.tokens(idx)
        for layer, (attend, think) in enumerate(zip(self.attend, self.think, strict=True)):
            x = x + attend(self.norms[2 * layer](x), caches and caches[layer])
            x = x + think(self.norms[2 * layer + 1](x))
        return self.logits(self.norms[-1](x))

    def step(self, token, state=None):
        caches = [KVCache() for _ in self.attend]
        if state is not None:
            for layer, cache in enumerate(caches):
                cache.keys, cache.values = state[2 * layer : 2 * layer + 2]
        logits = self(token[:, None], caches)[:, -1]
        return logits, [part for cache in caches for part in (cache.keys, cache.values)]
