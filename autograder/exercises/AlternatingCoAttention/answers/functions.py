"""One function for all steps, and a guide of zeros for the first; it counts and prints its calls."""

import torch
import torch.nn.functional as F
from torch import nn


def masked_softmax(logits, mask):
    """(b, s) and a mask (b, s), or None -> (b, s); 0 for what is hidden, and where nothing is left."""
    if mask is None:
        return F.softmax(logits, dim=-1)
    empty = ~mask.any(dim=-1, keepdim=True)
    logits = logits.masked_fill(~mask & ~empty, -torch.inf)
    return F.softmax(logits, dim=-1).masked_fill(empty, 0.0)


def attend(x, g, W_x, W_g, w_hx, mask):
    hidden = torch.tanh(F.linear(x, W_x) + F.linear(g, W_g).unsqueeze(-2))
    a = masked_softmax(F.linear(hidden, w_hx).squeeze(-1), mask)
    return torch.bmm(a.unsqueeze(1), x).squeeze(1), a


class Weights(nn.Module):
    def __init__(self, d, k):
        super().__init__()
        self.W_x, self.W_g = (nn.Linear(d, k, bias=False) for _ in range(2))
        self.w_hx = nn.Linear(k, 1, bias=False)


class AlternatingCoAttention(nn.Module):
    def __init__(self, d, k):
        super().__init__()
        self.steps = nn.ModuleList()
        for _ in range(3):
            self.steps.append(Weights(d, k))
        self.count = 0

    def step(self, i, x, g, mask):
        layers = self.steps[i]
        return attend(x, g, layers.W_x.weight, layers.W_g.weight, layers.w_hx.weight, mask)

    def forward(self, v, q, v_mask=None, q_mask=None):
        if not v.dim() == q.dim() == 3:
            raise ValueError("both v and q must have three dimensions")
        self.count += 1
        if self.count == 1:
            print("first call with", tuple(v.shape), tuple(q.shape))
        s_hat, _ = self.step(0, q, q.new_zeros(q.shape[0], q.shape[2]), q_mask)
        v_hat, a_v = self.step(1, v, s_hat, v_mask)
        q_hat, a_q = self.step(2, q, v_hat, q_mask)
        return v_hat, q_hat, a_v, a_q
