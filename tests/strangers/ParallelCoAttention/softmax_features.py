# wrong: softmax over dim -1, which has one entry, so all weights are 1
# expect: softmax-over-one
# also: rank-not-checked, masks-ignored
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
        affinity = torch.tanh(q @ self.W_b(v).mT)
        wv, wq = self.W_v(v), self.W_q(q)
        a_v = torch.softmax(self.w_hv(torch.tanh(wv + affinity.mT @ wq)), dim=-1)
        a_q = torch.softmax(self.w_hq(torch.tanh(wq + affinity @ wv)), dim=-1)
        return (a_v.mT @ v).squeeze(1), (a_q.mT @ q).squeeze(1), a_v.squeeze(-1), a_q.squeeze(-1)
