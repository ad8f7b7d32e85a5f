"""As in the lesson, in few lines; no mask is a mask of ones."""

import torch
from torch import nn


class ParallelCoAttention(nn.Module):
    def __init__(self, d, k):
        super().__init__()
        self.W_b = nn.Linear(d, d, bias=False)
        self.W_v = nn.Linear(d, k, bias=False)
        self.W_q = nn.Linear(d, k, bias=False)
        self.w_hv = nn.Linear(k, 1, bias=False)
        self.w_hq = nn.Linear(k, 1, bias=False)

    def forward(self, v, q, v_mask=None, q_mask=None):
        if v.dim() != 3 or q.dim() != 3:
            raise ValueError(f"expected (b, n, d) and (b, t, d), got {tuple(v.shape)} and {tuple(q.shape)}")
        v_mask = torch.ones_like(v[..., 0], dtype=torch.bool) if v_mask is None else v_mask
        q_mask = torch.ones_like(q[..., 0], dtype=torch.bool) if q_mask is None else q_mask
        C = torch.tanh(q @ self.W_b(v).transpose(1, 2)) * v_mask[:, None, :] * q_mask[:, :, None]
        Wv, Wq = self.W_v(v), self.W_q(q)
        H_v = torch.tanh(Wv + C.transpose(1, 2) @ Wq)
        H_q = torch.tanh(Wq + C @ Wv)
        lowest = torch.finfo(v.dtype).min
        a_v = self.w_hv(H_v).squeeze(-1).masked_fill(~v_mask, lowest).softmax(-1) * v_mask
        a_q = self.w_hq(H_q).squeeze(-1).masked_fill(~q_mask, lowest).softmax(-1) * q_mask
        v_hat = (a_v.unsqueeze(1) @ v).squeeze(1)
        q_hat = (a_q.unsqueeze(1) @ q).squeeze(1)
        return v_hat, q_hat, a_v, a_q
