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


class LatentAttention(nn.Module):
    def __init__(self, d_model, num_heads, head_dim, latent_dim):
        super().__init__()
        self.num_heads, self.head_dim = num_heads, head_dim
        self.W_query = nn.Linear(d_model, num_heads * head_dim, bias=False)
        self.W_down = nn.Linear(d_model, latent_dim, bias=False)
        self.W_up_key = nn.Linear(latent_dim, num_heads * head_dim, bias=False)
        self.W_up_value = nn.Linear(latent_dim, num_heads * head_dim, bias=False)
        self.out_proj = nn.Linear(num_heads * head_dim, d_model, bias=False)

    def forward(self, x, before=None):
        latent = self.W_down(x) if before is None else torch.cat([before, self.W_down(x)], dim=1)
        heads = (self.num_heads, self.head_dim)
        queries = self.W_query(x).unflatten(2, heads).transpose(1, 2)
        keys, values = (made(latent).unflatten(2, heads).transpose(1, 2) for made in (self.W_up_key, self.W_up_value))
        scores = queries @ keys.transpose(2, 3) / self.head_dim**0.5
        t, s = scores.shape[-2:]
        weights = scores.masked_fill(~torch.ones(t, s, dtype=torch.bool).tril(s - t), -torch.inf).softmax(dim=-1)
        return self.out_proj((weights @ values).transpose(1, 2).flatten(2)), latent


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.first, self.second = RMSNorm(d), RMSNorm(d)
        self.attend, self.think = LatentAttention(d, 4, 12, 16), SwiGLU(d, 64)

    def forward(self, x, before=None):
        found, latent = self.attend(self.first(x), before)
        x = x + found
        return x + self.think(self.second(x)), latent


class MyModel(nn.Module):
    def __init__(self, vocab_size):
        super().__init__()
        self.tokens, self.last, self.logits = nn.Embedding(vocab_size, 32), RMSNorm(32), nn.Linear(32, vocab_size)
        nn.init.normal_(self.tokens.weight, std=0.5)
        self.blocks = nn.ModuleList([Block(32), Block(32)])

    def read(self, idx, state):
        x, kept = self.tokens(idx), []
        for block, before in zip(self.blocks, state or (None, None), strict=True):
            x, latent = block(x, before)
            kept.append(latent)
        return self.logits(self.last(x)), kept

    def forward(self, idx):
        return self.read(idx, None)[0]

    def step(self, token, state=None):
        logits, state = self.read(token[:, None], state)
        return logits[:, 0], state
