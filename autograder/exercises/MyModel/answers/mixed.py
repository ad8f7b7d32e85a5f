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


class Decays(nn.Module):
    """Linear attention in a state that is never cleared, as in three layers of four of some models."""

    def __init__(self, d, heads, width):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value = (nn.Linear(d, heads * width, bias=False) for _ in range(3))
        self.out = nn.Linear(heads * width, d, bias=False)

    def cut(self, x):
        query, key, value = (
            made(x).unflatten(2, (self.heads, -1)).transpose(1, 2) for made in (self.query, self.key, self.value)
        )
        return F.normalize(query, dim=-1), F.normalize(key, dim=-1), value

    def forward(self, x):
        query, key, value = self.cut(x)
        return self.out(((query @ key.transpose(2, 3)).tril() @ value).transpose(1, 2).flatten(2))

    def step(self, x, state):
        query, key, value = self.cut(x)
        written = key.transpose(2, 3) @ value
        state = written if state is None else state + written
        return self.out((query @ state).transpose(1, 2).flatten(2)), state


class Gated(nn.Module):
    """Attention of two heads whose output goes through a gate."""

    def __init__(self, d, heads, width):
        super().__init__()
        self.heads = heads
        self.W_query, self.W_key, self.W_value, self.W_gate = (
            nn.Linear(d, heads * width, bias=False) for _ in range(4)
        )
        self.out_proj = nn.Linear(heads * width, d, bias=False)

    def attend(self, x, keys, values):
        query, keys, values = (
            y.unflatten(2, (self.heads, -1)).transpose(1, 2) for y in (self.W_query(x), keys, values)
        )
        past = torch.ones(query.shape[2], keys.shape[2], dtype=torch.bool).tril(keys.shape[2] - query.shape[2])
        found = F.scaled_dot_product_attention(query, keys, values, attn_mask=past)
        return self.out_proj(self.W_gate(x).sigmoid() * found.transpose(1, 2).flatten(2))

    def forward(self, x):
        return self.attend(x, self.W_key(x), self.W_value(x))

    def step(self, x, state):
        both = torch.stack([self.W_key(x), self.W_value(x)])
        both = both if state is None else torch.cat([state, both], dim=2)
        return self.attend(x, *both), both


class MyModel(nn.Module):
    def __init__(self, vocab_size):
        super().__init__()
        self.tokens, self.logits = nn.Embedding(vocab_size, 32), nn.Linear(32, vocab_size, bias=False)
        nn.init.normal_(self.tokens.weight, std=0.5)
        self.mix = nn.ModuleList([Decays(32, 4, 8), Gated(32, 2, 12)])
        self.think = nn.ModuleList([SwiGLU(32, 64), SwiGLU(32, 64)])
        self.before = nn.ModuleList([RMSNorm(32), RMSNorm(32)])
        self.between = nn.ModuleList([RMSNorm(32), RMSNorm(32)])
        self.last = RMSNorm(32)

    def forward(self, idx):
        x = self.tokens(idx)
        for before, mix, between, think in zip(self.before, self.mix, self.between, self.think, strict=True):
            x = x + mix(before(x))
            x = x + think(between(x))
        return self.logits(self.last(x))

    def step(self, token, state=None):
        x, new = self.tokens(token[:, None]), []
        for before, mix, between, think, old in zip(
            self.before, self.mix, self.between, self.think, state or [None] * 2, strict=True
        ):
            found, kept = mix.step(before(x), old)
            new.append(kept)
            x = x + found
            x = x + think(between(x))
        return self.logits(self.last(x)).squeeze(1), new
