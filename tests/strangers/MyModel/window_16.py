# wrong: attention with a window of 16: it fits the budget and forgets the facts
# expect: window-of-16
import math

import torch
from torch import nn
import torch.nn.functional as F


class Window(nn.Module):
    """Sliding window attention: each token sees the last 16."""

    SIZE = 16

    def __init__(self, d, heads):
        super().__init__()
        self.heads, self.w = heads, d // heads
        self.qkv = nn.Linear(d, 3 * d, bias=False)
        self.proj = nn.Linear(d, d, bias=False)

    def forward(self, x, past=None):
        b, t, d = x.shape
        q, k, v = (z.view(b, t, self.heads, self.w).transpose(1, 2) for z in self.qkv(x).chunk(3, dim=-1))
        if past is not None:
            k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
        s = k.shape[2]
        behind = torch.arange(s - t, s)[:, None] - torch.arange(s)[None]
        see = (behind >= 0) & (behind < self.SIZE)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=see)
        return self.proj(y.transpose(1, 2).reshape(b, t, d)), (k[:, :, -self.SIZE:], v[:, :, -self.SIZE:])


class MyModel(nn.Module):
    def __init__(self, vocab_size):
        super().__init__()
        self.emb = nn.Embedding(vocab_size, 32)
        nn.init.normal_(self.emb.weight, std=0.5)
        self.att = nn.ModuleList([Window(32, 4) for _ in range(2)])
        self.ln = nn.ModuleList([nn.LayerNorm(32) for _ in range(4)])
        self.ff = nn.ModuleList([nn.Sequential(nn.Linear(32, 96), nn.GELU(), nn.Linear(96, 32)) for _ in range(2)])
        self.ln_f = nn.LayerNorm(32)
        self.head = nn.Linear(32, vocab_size)

    def layers(self, idx, past):
        x, now = self.emb(idx), []
        for i in range(2):
            y, kv = self.att[i](self.ln[2 * i](x), None if past is None else past[2 * i : 2 * i + 2])
            x = x + y
            x = x + self.ff[i](self.ln[2 * i + 1](x))
            now.extend(kv)
        return self.head(self.ln_f(x)), now

    def forward(self, idx):
        return self.layers(idx, None)[0]

    def step(self, token, state=None):
        logits, state = self.layers(token[:, None], state)
        return logits[:, 0], state
