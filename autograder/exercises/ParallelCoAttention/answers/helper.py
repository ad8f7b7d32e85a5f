"""A method for what both sides do with the inside of their tanh."""

import torch
import torch.nn.functional as F
from torch import nn


class ParallelCoAttention(nn.Module):
    def __init__(self, d, k):
        super().__init__()
        self.W_b = nn.Linear(d, d, bias=False)
        self.W_v = nn.Linear(d, k, bias=False)
        self.W_q = nn.Linear(d, k, bias=False)
        self.w_hv = nn.Linear(k, 1, bias=False)
        self.w_hq = nn.Linear(k, 1, bias=False)

    def summary(self, x, inner, layer):
        """Tokens (b, s, d) and what is inside of H's tanh (b, s, k) -> their summary (b, d) and weights (b, s)."""
        a = F.softmax(layer(torch.tanh(inner)).squeeze(-1), dim=-1)
        return (a.unsqueeze(1) @ x).squeeze(1), a

    def forward(self, v, q):
        if v.dim() != 3 or q.dim() != 3:
            raise ValueError(f"expected (b, n, d) and (b, t, d), got {tuple(v.shape)} and {tuple(q.shape)}")
        C = torch.tanh(q @ self.W_b(v).transpose(1, 2))  # (b, t, n)
        from_v, from_q = self.W_v(v), self.W_q(q)
        v_hat, a_v = self.summary(v, from_v + C.transpose(1, 2) @ from_q, self.w_hv)
        q_hat, a_q = self.summary(q, from_q + C @ from_v, self.w_hq)
        return v_hat, q_hat, a_v, a_q
