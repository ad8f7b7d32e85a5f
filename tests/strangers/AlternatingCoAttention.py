# %% shared_step: one step used three times; the order starts with the image
# expect: one-set-three-times, image-first
# also: rank-not-checked, masks-not-taken
import torch
import torch.nn as nn


class Step(nn.Module):
    def __init__(self, d, k):
        super().__init__()
        self.W_x = nn.Linear(d, k, bias=False)
        self.W_g = nn.Linear(d, k, bias=False)
        self.w_hx = nn.Linear(k, 1, bias=False)

    def forward(self, x, g):
        H = torch.tanh(self.W_x(x) + self.W_g(g)[:, None, :])
        a = torch.softmax(self.w_hx(H), dim=1)
        return torch.sum(a * x, dim=1), a[:, :, 0]


class AlternatingCoAttention(nn.Module):
    def __init__(self, d, k):
        super().__init__()
        self.steps = nn.ModuleList([Step(d, k)] * 3)

    def forward(self, v, q):
        zero = torch.zeros_like(v[:, 0])
        v0, _ = self.steps[0](v, zero)
        q_hat, a_q = self.steps[1](q, v0)
        v_hat, a_v = self.steps[2](v, q_hat)
        return v_hat, q_hat, a_v, a_q

# %% wrong_guide: step three is guided by the question again instead of the image; no tanh
# expect: guided-by-itself, no-tanh-on-hidden
# also: rank-not-checked, masks-not-taken
import torch
from torch import nn


class GuidedStep(nn.Module):
    def __init__(self, d, k):
        super().__init__()
        self.W_x = nn.Linear(d, k, bias=False)
        self.W_g = nn.Linear(d, k, bias=False)
        self.w_hx = nn.Linear(k, 1, bias=False)

    def forward(self, x, g=None):
        h = self.W_x(x)
        if g is not None:
            h = h + self.W_g(g).unsqueeze(1)
        a = torch.softmax(self.w_hx(h).squeeze(-1), dim=1)
        return (a.unsqueeze(-1) * x).sum(1), a


class AlternatingCoAttention(nn.Module):
    def __init__(self, d, k):
        super().__init__()
        self.steps = nn.ModuleList([GuidedStep(d, k) for _ in range(3)])

    def forward(self, v, q):
        s, _ = self.steps[0](q)
        v_hat, a_v = self.steps[1](v, s)
        q_hat, a_q = self.steps[2](q, s)
        return v_hat, q_hat, a_v, a_q
