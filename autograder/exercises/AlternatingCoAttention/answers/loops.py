"""One pair after the other, one token after the other, and a softmax by hand."""

import torch
from torch import nn


class Step(nn.Module):
    def __init__(self, d, k):
        super().__init__()
        self.W_x, self.W_g = nn.Linear(d, k, bias=False), nn.Linear(d, k, bias=False)
        self.w_hx = nn.Linear(k, 1, bias=False)

    def forward(self, tokens, guide):
        from_guide = 0 if guide is None else self.W_g(guide)
        logits = torch.cat([self.w_hx((self.W_x(token) + from_guide).tanh()) for token in tokens])
        e = (logits - logits.max()).exp()
        a = e / e.sum()
        return sum(weight * token for weight, token in zip(a, tokens, strict=True)), a


class AlternatingCoAttention(nn.Module):
    def __init__(self, d, k):
        super().__init__()
        self.steps = nn.ModuleList([Step(d, k) for _ in range(3)])

    def forward(self, v, q):
        if len(v.shape) != 3 or len(q.shape) != 3:
            raise ValueError("wrong rank")
        results = []
        for image, question in zip(v, q, strict=True):
            words, _ = self.steps[0](question, None)
            v_hat, a_v = self.steps[1](image, words)
            q_hat, a_q = self.steps[2](question, v_hat)
            results.append((v_hat, q_hat, a_v, a_q))
        return tuple(torch.stack(column) for column in zip(*results, strict=True))
