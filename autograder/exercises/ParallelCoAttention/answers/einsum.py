"""Every product by its indices; the bilinear form in one einsum; the sums through named helpers."""

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

    def weigh(self, hidden, layer):
        return torch.softmax(torch.einsum("bsk,ok->bs", hidden, layer.weight), dim=1)

    def forward(self, v, q):
        for x in (v, q):
            if x.dim() != 3:
                raise ValueError(f"expected three dimensions, got {x.dim()}")
        C = torch.einsum("bti,ij,bnj->btn", q, self.W_b.weight, v).tanh()
        Wv = torch.einsum("bnd,kd->bnk", v, self.W_v.weight)
        Wq = torch.einsum("btd,kd->btk", q, self.W_q.weight)
        a_v = self.weigh((Wv + torch.einsum("btn,btk->bnk", C, Wq)).tanh(), self.w_hv)
        a_q = self.weigh((Wq + torch.einsum("btn,bnk->btk", C, Wv)).tanh(), self.w_hq)
        return torch.einsum("bn,bnd->bd", a_v, v), torch.einsum("bt,btd->bd", a_q, q), a_v, a_q
