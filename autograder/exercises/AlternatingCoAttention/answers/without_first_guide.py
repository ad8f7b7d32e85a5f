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

    def forward(self, x, mask, guide=None):
        inner = self.W_x(x)
        if guide is not None:
            inner = inner + self.W_g(guide)[:, None]
        logits = self.w_hx(torch.tanh(inner))  # (b, s, 1)
        seen = torch.ones_like(logits, dtype=torch.bool) if mask is None else mask[..., None]
        a = torch.softmax(logits.masked_fill(~seen, torch.finfo(logits.dtype).min), dim=1) * seen
        return (a.mT @ x)[:, 0], a[..., 0]


class AlternatingCoAttention(nn.Module):
    def __init__(self, d, k):
        super().__init__()
        self.steps = nn.ModuleList([Step(d, k, guided=i > 0) for i in range(3)])

    def forward(self, v, q, v_mask=None, q_mask=None):
        b, n, d = v.shape
        b, t, d = q.shape
        first, then, last = self.steps
        question, _ = first(q, q_mask)
        v_hat, a_v = then(v, v_mask, question)
        q_hat, a_q = last(q, q_mask, v_hat)
        return v_hat, q_hat, a_v, a_q
