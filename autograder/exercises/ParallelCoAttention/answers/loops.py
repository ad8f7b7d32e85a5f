"""One pair of the batch after the other, with matrices only, and a softmax by hand."""

import torch
from torch import nn


def weights_of(logits):
    e = (logits - logits.max()).exp()
    return e / e.sum()


class ParallelCoAttention(nn.Module):
    def __init__(self, d, k):
        super().__init__()
        self.W_b = nn.Linear(d, d, bias=False)
        self.W_v, self.W_q = nn.Linear(d, k, bias=False), nn.Linear(d, k, bias=False)
        self.w_hv, self.w_hq = nn.Linear(k, 1, bias=False), nn.Linear(k, 1, bias=False)

    def one(self, v, q):
        C = torch.tanh(q @ self.W_b(v).T)
        H_v = torch.tanh(self.W_v(v) + C.T @ self.W_q(q))
        H_q = torch.tanh(self.W_q(q) + C @ self.W_v(v))
        a_v, a_q = weights_of(self.w_hv(H_v)[:, 0]), weights_of(self.w_hq(H_q)[:, 0])
        return a_v @ v, a_q @ q, a_v, a_q

    def forward(self, v, q):
        b, n, d = v.shape
        b, t, d = q.shape
        pairs = [self.one(v[i], q[i]) for i in range(b)]
        return tuple(torch.stack(parts) for parts in zip(*pairs, strict=True))
