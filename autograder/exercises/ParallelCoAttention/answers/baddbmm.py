"""Batched products that add in the same step, the projection that is pulled through the sum, weights kept (b, n, 1).

Hidden tokens are set to 0 at the start, so that nobody hears them.
"""

import torch
from torch import nn


def weigh(logits, mask):
    """Logits (b, s, 1) and a mask (b, s) or None -> weights (b, s, 1)."""
    if mask is None:
        return logits.softmax(dim=1)
    seen = mask.unsqueeze(2)
    hidden = torch.where(seen.any(dim=1, keepdim=True), float("-inf"), 0.0).to(logits.dtype)  # 0 where nothing is left
    return torch.where(seen, torch.where(seen, logits, hidden).softmax(dim=1), 0.0)


class ParallelCoAttention(nn.Module):
    def __init__(self, d, k):
        super().__init__()
        self.k = k
        self.W_b = nn.Linear(d, d, bias=False)
        self.W_v = nn.Linear(d, k, bias=False)
        self.W_q = nn.Linear(d, k, bias=False)
        self.w_hv = nn.Linear(k, 1, bias=False)
        self.w_hq = nn.Linear(k, 1, bias=False)

    def forward(self, v, q, v_mask=None, q_mask=None):
        if v.dim() != 3:
            raise ValueError("v: (b, n, d)")
        if q.dim() != 3:
            raise ValueError("q: (b, t, d)")
        if v_mask is not None:
            v = torch.where(v_mask.unsqueeze(2), v, 0.0)
        if q_mask is not None:
            q = torch.where(q_mask.unsqueeze(2), q, 0.0)
        C_T = torch.bmm(self.W_b(v), q.transpose(1, 2)).tanh()  # (b, n, t)
        H_v = torch.baddbmm(self.W_v(v), C_T, self.W_q(q)).tanh()
        H_q = (self.W_q(q) + self.W_v(torch.bmm(C_T.transpose(1, 2), v))).tanh()
        a_v = weigh(self.w_hv(H_v), v_mask)  # (b, n, 1)
        a_q = weigh(self.w_hq(H_q), q_mask)
        return (a_v * v).sum(dim=1), (a_q * q).sum(dim=1), a_v.flatten(1), a_q.flatten(1)
