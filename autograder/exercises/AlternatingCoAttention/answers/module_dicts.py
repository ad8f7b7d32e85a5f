"""Each step is a ModuleDict, its arithmetic a function outside; einsum throughout."""

import torch
from torch import nn


def attend(x, layers, g=None):
    inner = torch.einsum("bsd,kd->bsk", x, layers["W_x"].weight)
    if g is not None:
        inner = inner + torch.einsum("bd,kd->bk", g, layers["W_g"].weight).unsqueeze(1)
    logits = torch.einsum("bsk,ok->bs", inner.tanh(), layers["w_hx"].weight)
    a = logits.softmax(dim=1)
    return torch.einsum("bs,bsd->bd", a, x), a


class AlternatingCoAttention(nn.Module):
    def __init__(self, d, k):
        super().__init__()
        sizes = {"W_x": (d, k), "W_g": (d, k), "w_hx": (k, 1)}
        self.steps = nn.ModuleList()
        for _ in range(3):
            self.steps.append(nn.ModuleDict({name: nn.Linear(*size, bias=False) for name, size in sizes.items()}))

    def forward(self, v, q):
        if v.dim() + q.dim() != 6 or v.dim() != 3:
            raise ValueError("v and q should have three dimensions each")
        g, _ = attend(q, self.steps[0])
        v_hat, a_v = attend(v, self.steps[1], g)
        q_hat, a_q = attend(q, self.steps[2], v_hat)
        return v_hat, q_hat, a_v, a_q
