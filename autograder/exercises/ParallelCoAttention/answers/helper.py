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

    def summary(self, x, inner, layer, mask):
        """Tokens (b, s, d) and what is inside of H's tanh (b, s, k) -> their summary (b, d) and weights (b, s)."""
        logits = layer(torch.tanh(inner))  # (b, s, 1)
        if mask is not None:
            logits = logits.masked_fill(~mask.unsqueeze(-1), torch.finfo(logits.dtype).min)
        a = F.softmax(logits.squeeze(-1), dim=-1)
        if mask is not None:
            a = a.masked_fill(~mask, 0.0)
        return (a.unsqueeze(1) @ x).squeeze(1), a

    def forward(self, v, q, v_mask=None, q_mask=None):
        if v.dim() != 3 or q.dim() != 3:
            raise ValueError(f"expected (b, n, d) and (b, t, d), got {tuple(v.shape)} and {tuple(q.shape)}")
        C = torch.tanh(q @ self.W_b(v).transpose(1, 2))  # (b, t, n)
        if v_mask is not None:
            C = C.masked_fill(~v_mask.unsqueeze(1), 0.0)
        if q_mask is not None:
            C = C.masked_fill(~q_mask.unsqueeze(2), 0.0)
        from_v, from_q = self.W_v(v), self.W_q(q)
        v_hat, a_v = self.summary(v, from_v + C.transpose(1, 2) @ from_q, self.w_hv, v_mask)
        q_hat, a_q = self.summary(q, from_q + C @ from_v, self.w_hq, q_mask)
        return v_hat, q_hat, a_v, a_q
