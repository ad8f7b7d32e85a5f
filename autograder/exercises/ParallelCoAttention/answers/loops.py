"""One pair of the batch after the other, with matrices only, and a softmax by hand; what is hidden counts 0 times."""

import torch
from torch import nn


def weights_of(logits, seen):
    e = (logits - logits.masked_fill(~seen, torch.finfo(logits.dtype).min).max()).clamp(max=0).exp() * seen
    return e / (e.sum() + ~seen.any())


class ParallelCoAttention(nn.Module):
    def __init__(self, d, k):
        super().__init__()
        self.W_b = nn.Linear(d, d, bias=False)
        self.W_v, self.W_q = nn.Linear(d, k, bias=False), nn.Linear(d, k, bias=False)
        self.w_hv, self.w_hq = nn.Linear(k, 1, bias=False), nn.Linear(k, 1, bias=False)

    def one(self, v, q, see_v, see_q):
        C = torch.tanh(q @ self.W_b(v).T) * torch.outer(see_q, see_v)
        H_v = torch.tanh(self.W_v(v) + C.T @ self.W_q(q))
        H_q = torch.tanh(self.W_q(q) + C @ self.W_v(v))
        a_v, a_q = weights_of(self.w_hv(H_v)[:, 0], see_v), weights_of(self.w_hq(H_q)[:, 0], see_q)
        return a_v @ v, a_q @ q, a_v, a_q

    def forward(self, v, q, v_mask=None, q_mask=None):
        b, n, d = v.shape
        b, t, d = q.shape
        v_mask = v.new_ones(b, n).bool() if v_mask is None else v_mask
        q_mask = q.new_ones(b, t).bool() if q_mask is None else q_mask
        pairs = [self.one(v[i], q[i], v_mask[i], q_mask[i]) for i in range(b)]
        return tuple(torch.stack(parts) for parts in zip(*pairs, strict=True))
