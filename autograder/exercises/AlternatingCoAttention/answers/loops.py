"""One pair after the other, one token after the other, and a softmax by hand, in which hidden tokens count 0."""

import torch
from torch import nn


class Step(nn.Module):
    def __init__(self, d, k):
        super().__init__()
        self.W_x, self.W_g = nn.Linear(d, k, bias=False), nn.Linear(d, k, bias=False)
        self.w_hx = nn.Linear(k, 1, bias=False)

    def forward(self, tokens, guide, seen):
        from_guide = 0 if guide is None else self.W_g(guide)
        logits = torch.cat([self.w_hx((self.W_x(token) + from_guide).tanh()) for token in tokens])
        shown = torch.where(seen, logits, torch.finfo(logits.dtype).min)
        e = (shown - shown.max()).exp() * seen
        a = e / torch.where(seen.any(), e.sum(), 1.0)
        return sum(weight * token for weight, token in zip(a, tokens, strict=True)), a


class AlternatingCoAttention(nn.Module):
    def __init__(self, d, k):
        super().__init__()
        self.steps = nn.ModuleList([Step(d, k) for _ in range(3)])

    def forward(self, v, q, v_mask=None, q_mask=None):
        if len(v.shape) != 3 or len(q.shape) != 3:
            raise ValueError("wrong rank")
        v_mask = torch.ones_like(v[:, :, 0]).bool() if v_mask is None else v_mask
        q_mask = torch.ones_like(q[:, :, 0]).bool() if q_mask is None else q_mask
        results = []
        for image, question, cells, spoken in zip(v, q, v_mask, q_mask, strict=True):
            words, _ = self.steps[0](question, None, spoken)
            v_hat, a_v = self.steps[1](image, words, cells)
            q_hat, a_q = self.steps[2](question, v_hat, spoken)
            results.append((v_hat, q_hat, a_v, a_q))
        return tuple(torch.stack(column) for column in zip(*results, strict=True))
