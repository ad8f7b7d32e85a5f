"""As in the paper: tokens are columns, and weight matrices stand on the left."""

import torch
import torch.nn.functional as F
from torch import nn


def weights_of(logits, mask):
    """(b, 1, s) and a mask (b, s) or None -> (b, 1, s)."""
    if mask is None:
        return F.softmax(logits, dim=2)
    mask = mask[:, None]
    logits = logits.masked_fill(~mask, torch.finfo(logits.dtype).min)
    e = torch.where(mask, torch.exp(logits - logits.amax(2, keepdim=True).detach()), 0.0)
    return e / torch.where(mask.any(2, keepdim=True), e.sum(2, keepdim=True), 1.0)


class ParallelCoAttention(nn.Module):
    def __init__(self, d, k):
        super().__init__()
        for name, (d_in, d_out) in {
            "W_b": (d, d),
            "W_v": (d, k),
            "W_q": (d, k),
            "w_hv": (k, 1),
            "w_hq": (k, 1),
        }.items():
            setattr(self, name, nn.Linear(d_in, d_out, bias=False))

    def forward(self, v, q, v_mask=None, q_mask=None):
        if (v.ndim, q.ndim) != (3, 3):
            raise ValueError("v and q need three dimensions each")
        V, Q = v.mT, q.mT  # (b, d, n) and (b, d, t)
        C = torch.tanh(Q.mT @ self.W_b.weight @ V)  # (b, t, n)
        WV, WQ = self.W_v.weight @ V, self.W_q.weight @ Q  # (b, k, n) and (b, k, t)
        heard_v = WV if v_mask is None else WV * v_mask[:, None]
        heard_q = WQ if q_mask is None else WQ * q_mask[:, None]
        H_v = torch.tanh(WV + heard_q @ C)
        H_q = torch.tanh(WQ + heard_v @ C.mT)
        a_v = weights_of(self.w_hv.weight @ H_v, v_mask)  # (b, 1, n)
        a_q = weights_of(self.w_hq.weight @ H_q, q_mask)
        return (V @ a_v.mT)[..., 0], (Q @ a_q.mT)[..., 0], a_v[:, 0], a_q[:, 0]
