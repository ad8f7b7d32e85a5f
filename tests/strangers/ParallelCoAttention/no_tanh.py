# wrong: the affinity has no tanh
# expect: no-tanh-on-affinity
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
        C = torch.bmm(q, self.W_b(v).transpose(1, 2))
        hv = torch.tanh(self.W_v(v) + torch.bmm(C.transpose(1, 2), self.W_q(q)))
        hq = torch.tanh(self.W_q(q) + torch.bmm(C, self.W_v(v)))
        a_v = torch.softmax(self.w_hv(hv), dim=1)
        a_q = torch.softmax(self.w_hq(hq), dim=1)
        v_hat = (a_v * v).sum(dim=1)
        q_hat = (a_q * q).sum(dim=1)
        return v_hat, q_hat, a_v.squeeze(-1), a_q.squeeze(-1)
