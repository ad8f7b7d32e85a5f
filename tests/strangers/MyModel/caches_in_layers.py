# wrong: keys and values are remembered in attributes of the layers; the state is only a list with the number of tokens
# expect: kept-in-an-attribute
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



class Attention(nn.Module):
    """4 query heads, 1 key head; remembers by itself while it generates."""

    def __init__(self, d):
        super().__init__()
        self.q, self.kv, self.o = nn.Linear(d, d, bias=False), nn.Linear(d, 2 * (d // 4), bias=False), nn.Linear(d, d, bias=False)
        self.k_cache = self.v_cache = None

    def forward(self, x, use_cache=False):
        B, T, C = x.shape
        q = self.q(x).view(B, T, 4, C // 4).transpose(1, 2)
        k, v = self.kv(x).unsqueeze(1).chunk(2, dim=-1)
        if use_cache:
            if self.k_cache is not None:
                k = torch.cat([self.k_cache, k], dim=2)
                v = torch.cat([self.v_cache, v], dim=2)
            self.k_cache, self.v_cache = k, v
        S = k.size(2)
        att = q @ k.transpose(-2, -1) / math.sqrt(C // 4)
        att = att.masked_fill(torch.triu(torch.ones(T, S, dtype=torch.bool), S - T + 1), float("-inf"))
        y = att.softmax(-1) @ v
        return self.o(y.transpose(1, 2).reshape(B, T, C))


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.ln_1, self.attn, self.ln_2, self.mlp = RMSNorm(d), Attention(d), RMSNorm(d), SwiGLU(d, 64)

    def forward(self, x, use_cache=False):
        x = x + self.attn(self.ln_1(x), use_cache)
        return x + self.mlp(self.ln_2(x))


class MyModel(nn.Module):
    def __init__(self, vocab_size):
        super().__init__()
        self.wte = nn.Embedding(vocab_size, 32)
        nn.init.normal_(self.wte.weight, std=0.5)
        self.h = nn.ModuleList([Block(32), Block(32)])
        self.ln_f = RMSNorm(32)
        self.lm_head = nn.Linear(32, vocab_size, bias=False)

    def forward(self, idx, use_cache=False):
        x = self.wte(idx)
        for block in self.h:
            x = block(x, use_cache)
        return self.lm_head(self.ln_f(x))

    def step(self, token, state=None):
        if state is None:  # a new text
            for block in self.h:
                block.attn.k_cache = block.attn.v_cache = None
            state = [torch.zeros(1)]
        logits = self.forward(token[:, None], use_cache=True)
        return logits[:, -1], [state[0] + 1]
