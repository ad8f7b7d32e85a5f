"""Each step is a ModuleDict, its arithmetic a function outside; einsum throughout."""

import torch
from torch import nn


def weigh(logits, mask):
    """A softmax over the tokens that the mask (b, s) lets through; rows of nothing are 0."""
    hidden = torch.zeros_like(logits).masked_fill(~mask, -torch.inf)
    hidden = hidden.masked_fill(~mask.any(dim=1, keepdim=True), 0.0)
    return (logits + hidden).softmax(dim=1) * mask


def attend(x, layers, mask, g=None):
    inner = torch.einsum("bsd,kd->bsk", x, layers["W_x"].weight)
    if g is not None:
        inner = inner + torch.einsum("bd,kd->bk", g, layers["W_g"].weight).unsqueeze(1)
    logits = torch.einsum("bsk,ok->bs", inner.tanh(), layers["w_hx"].weight)
    a = logits.softmax(dim=1) if mask is None else weigh(logits, mask)
    return torch.einsum("bs,bsd->bd", a, x), a


class AlternatingCoAttention(nn.Module):
    def __init__(self, d, k):
        super().__init__()
        sizes = {"W_x": (d, k), "W_g": (d, k), "w_hx": (k, 1)}
        self.steps = nn.ModuleList()
        for _ in range(3):
            self.steps.append(nn.ModuleDict({name: nn.Linear(*size, bias=False) for name, size in sizes.items()}))

    def forward(self, v, q, v_mask=None, q_mask=None):
        if v.dim() + q.dim() != 6 or v.dim() != 3:
            raise ValueError("v and q should have three dimensions each")
        g, _ = attend(q, self.steps[0], q_mask)
        v_hat, a_v = attend(v, self.steps[1], v_mask, g)
        q_hat, a_q = attend(q, self.steps[2], q_mask, v_hat)
        return v_hat, q_hat, a_v, a_q
