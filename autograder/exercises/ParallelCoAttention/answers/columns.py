"""As in the paper: tokens are columns, and weight matrices stand on the left."""

import torch
import torch.nn.functional as F
from torch import nn


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

    def forward(self, v, q):
        if (v.ndim, q.ndim) != (3, 3):
            raise ValueError("v and q need three dimensions each")
        V, Q = v.mT, q.mT  # (b, d, n) and (b, d, t)
        C = torch.tanh(Q.mT @ self.W_b.weight @ V)  # (b, t, n)
        WV, WQ = self.W_v.weight @ V, self.W_q.weight @ Q  # (b, k, n) and (b, k, t)
        H_v = torch.tanh(WV + WQ @ C)
        H_q = torch.tanh(WQ + WV @ C.mT)
        a_v = F.softmax(self.w_hv.weight @ H_v, dim=2)  # (b, 1, n)
        a_q = F.softmax(self.w_hq.weight @ H_q, dim=2)
        return (V @ a_v.mT)[..., 0], (Q @ a_q.mT)[..., 0], a_v[:, 0], a_q[:, 0]
