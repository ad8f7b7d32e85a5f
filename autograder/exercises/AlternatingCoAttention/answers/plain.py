"""As in the lesson: a module for a step, guided by zeros at first."""

import torch
from torch import nn


class Step(nn.Module):
    def __init__(self, d, k):
        super().__init__()
        self.W_x = nn.Linear(d, k, bias=False)
        self.W_g = nn.Linear(d, k, bias=False)
        self.w_hx = nn.Linear(k, 1, bias=False)

    def forward(self, x, g, mask):
        H = torch.tanh(self.W_x(x) + self.W_g(g).unsqueeze(1))
        logits = self.w_hx(H).squeeze(-1)
        if mask is None:
            a = logits.softmax(-1)
        else:
            a = logits.masked_fill(~mask, torch.finfo(logits.dtype).min).softmax(-1).masked_fill(~mask, 0.0)
        return (a.unsqueeze(-1) * x).sum(1), a


class AlternatingCoAttention(nn.Module):
    def __init__(self, d, k):
        super().__init__()
        self.steps = nn.ModuleList([Step(d, k) for _ in range(3)])

    def forward(self, v, q, v_mask=None, q_mask=None):
        if v.dim() != 3 or q.dim() != 3:
            raise ValueError("expected (b, n, d) and (b, t, d)")
        g = torch.zeros_like(q[:, 0])
        g, _ = self.steps[0](q, g, q_mask)
        v_hat, a_v = self.steps[1](v, g, v_mask)
        q_hat, a_q = self.steps[2](q, v_hat, q_mask)
        return v_hat, q_hat, a_v, a_q
