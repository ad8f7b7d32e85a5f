"""As in the paper: tokens are columns, the guide times a row of ones; all three steps in one loop."""

import torch
import torch.nn.functional as F
from torch import nn


class Layers(nn.Module):
    def __init__(self, d, k):
        super().__init__()
        self.W_x = nn.Linear(d, k, bias=False)
        self.W_g = nn.Linear(d, k, bias=False)
        self.w_hx = nn.Linear(k, 1, bias=False)


class AlternatingCoAttention(nn.Module):
    def __init__(self, d, k):
        super().__init__()
        self.steps = nn.ModuleList([Layers(d, k), Layers(d, k), Layers(d, k)])

    def forward(self, v, q, v_mask=None, q_mask=None):
        if v.ndim != 3 or q.ndim != 3:
            raise ValueError(f"three dimensions each, please: {tuple(v.shape)}, {tuple(q.shape)}")
        g = q.new_zeros(q.shape[0], q.shape[2], 1)  # (b, d, 1)
        kept = []
        masks = (q_mask, v_mask, q_mask)
        for X, mask, step in zip((q.mT, v.mT, q.mT), masks, self.steps, strict=True):  # (b, d, s)
            ones = X.new_ones(1, X.shape[2])
            H = torch.tanh(step.W_x.weight @ X + (step.W_g.weight @ g) @ ones)  # (b, k, s)
            logits = step.w_hx.weight @ H  # (b, 1, s)
            if mask is not None:
                logits = logits.masked_fill(~mask[:, None], torch.finfo(logits.dtype).min)
            a = F.softmax(logits, dim=-1)
            if mask is not None:
                a = a * mask[:, None]
            g = X @ a.mT
            kept.append((g.squeeze(2), a.squeeze(1)))
        (v_hat, a_v), (q_hat, a_q) = kept[1:]
        return v_hat, q_hat, a_v, a_q
