# wrong: linear attention: the state has the matrix only; the sum of the keys, by which it divides, starts anew in each step
# expect: ?
import math

import torch
from torch import nn
import torch.nn.functional as F


def phi(x):
    return F.elu(x) + 1


class LinearAttention(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h, self.w = h, d // h
        self.Wq, self.Wk, self.Wv, self.Wo = (nn.Linear(d, d, bias=False) for _ in range(4))

    def forward(self, x, S=None):
        b, t, d = x.shape
        q, k, v = (W(x).view(b, t, self.h, self.w).transpose(1, 2) for W in (self.Wq, self.Wk, self.Wv))
        q, k = phi(q), phi(k)
        if S is None:
            S = torch.zeros(b, self.h, self.w, self.w)
        z = torch.zeros(b, self.h, self.w)
        outs = []
        for i in range(t):
            S = S + k[:, :, i, :, None] * v[:, :, i, None, :]
            z = z + k[:, :, i]
            outs.append((q[:, :, i, None] @ S)[:, :, 0] / (q[:, :, i] * z).sum(-1, keepdim=True))
        y = torch.stack(outs, dim=2)
        return self.Wo(y.transpose(1, 2).reshape(b, t, d)), S


class MyModel(nn.Module):
    def __init__(self, vocab_size):
        super().__init__()
        self.emb = nn.Embedding(vocab_size, 32)
        nn.init.normal_(self.emb.weight, std=0.5)
        self.a = nn.ModuleList(LinearAttention(32, 4) for _ in range(2))
        self.n = nn.ModuleList(nn.LayerNorm(32) for _ in range(5))
        self.f = nn.ModuleList(nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 32)) for _ in range(2))
        self.out = nn.Linear(32, vocab_size)

    def both(self, idx, state):
        x, new = self.emb(idx), []
        for i in range(2):
            y, S = self.a[i](self.n[2 * i](x), state[i])
            new.append(S)
            x = x + y
            x = x + self.f[i](self.n[2 * i + 1](x))
        return self.out(self.n[4](x)), new

    def forward(self, idx):
        return self.both(idx, [None, None])[0]

    def step(self, token, state=None):
        y, new = self.both(token[:, None], state or [None, None])
        return y[:, 0], new
