"""Batched products that add in the same step, the projection that is pulled through the sum, weights kept (b, n, 1)."""

import torch
from torch import nn


class ParallelCoAttention(nn.Module):
    def __init__(self, d, k):
        super().__init__()
        self.k = k
        self.W_b = nn.Linear(d, d, bias=False)
        self.W_v = nn.Linear(d, k, bias=False)
        self.W_q = nn.Linear(d, k, bias=False)
        self.w_hv = nn.Linear(k, 1, bias=False)
        self.w_hq = nn.Linear(k, 1, bias=False)

    def forward(self, v, q):
        if v.dim() != 3:
            raise ValueError("v: (b, n, d)")
        if q.dim() != 3:
            raise ValueError("q: (b, t, d)")
        C_T = torch.bmm(self.W_b(v), q.transpose(1, 2)).tanh()  # (b, n, t)
        H_v = torch.baddbmm(self.W_v(v), C_T, self.W_q(q)).tanh()
        H_q = (self.W_q(q) + self.W_v(torch.bmm(C_T.transpose(1, 2), v))).tanh()
        a_v = self.w_hv(H_v).softmax(dim=1)  # (b, n, 1)
        a_q = self.w_hq(H_q).softmax(dim=1)
        return (a_v * v).sum(dim=1), (a_q * q).sum(dim=1), a_v.flatten(1), a_q.flatten(1)
