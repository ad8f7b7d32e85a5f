"""The first step has no W_g at all; an optional guide."""

import torch
from torch import nn


class Step(nn.Module):
    def __init__(self, d, k, guided=True):
        super().__init__()
        self.W_x = nn.Linear(d, k, bias=False)
        if guided:
            self.W_g = nn.Linear(d, k, bias=False)
        self.w_hx = nn.Linear(k, 1, bias=False)

    def forward(self, x, guide=None):
        inner = self.W_x(x)
        if guide is not None:
            inner = inner + self.W_g(guide)[:, None]
        a = torch.softmax(self.w_hx(torch.tanh(inner)), dim=1)
        return (a.mT @ x)[:, 0], a[..., 0]


class AlternatingCoAttention(nn.Module):
    def __init__(self, d, k):
        super().__init__()
        self.steps = nn.ModuleList([Step(d, k, guided=i > 0) for i in range(3)])

    def forward(self, v, q):
        b, n, d = v.shape
        b, t, d = q.shape
        first, then, last = self.steps
        question, _ = first(q)
        v_hat, a_v = then(v, question)
        q_hat, a_q = last(q, v_hat)
        return v_hat, q_hat, a_v, a_q
