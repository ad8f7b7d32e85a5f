"""A batch of one is added and taken away again; the middle is a function of its own, and prints its shape."""

import torch
from torch import nn


def scaled_dot_product(q, k, v):
    scores = torch.bmm(q, k.permute(0, 2, 1)) / (q.shape[2] ** 0.5)
    print("scores", list(scores.shape))
    return torch.bmm(nn.Softmax(dim=2)(scores), v)


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, k, h=4):
        super().__init__()
        if k // h * h != k:
            raise ValueError(f"k = {k}, h = {h}: no whole number of features for each head")
        self.h = h
        self.toqueries = nn.Linear(k, k, bias=False)
        self.tokeys = nn.Linear(k, k, bias=False)
        self.tovalues = nn.Linear(k, k, bias=False)
        self.unifyheads = nn.Linear(k, k)

    def fold(self, z):
        b, t, k = z.shape
        return z.reshape(b, t, self.h, k // self.h).permute(0, 2, 1, 3).reshape(b * self.h, t, k // self.h)

    def forward(self, x):
        single = x.dim() == 2
        if single:
            x = x.unsqueeze(0)
        if x.dim() != 3:
            raise ValueError(f"cannot attend to {tuple(x.shape)}")
        b, t, k = x.shape
        found = scaled_dot_product(*(self.fold(f(x)) for f in (self.toqueries, self.tokeys, self.tovalues)))
        found = found.reshape(b, self.h, t, k // self.h).permute(0, 2, 1, 3).reshape(b, t, k)
        out = self.unifyheads(found)
        return out.squeeze(0) if single else out
