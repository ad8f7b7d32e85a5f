# wrong: in the cross terms the projections are swapped: W_v of the question, W_q of the image; masks at the softmax alone
# expect: cross-term-by-the-own-layer
# also: rank-not-checked, masks-at-the-softmax-alone, nothing-left-is-nan
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
        C = torch.tanh(torch.einsum("btd,bnd->btn", q, self.W_b(v)))
        H_v = torch.tanh(self.W_v(v) + torch.einsum("btn,btk->bnk", C, self.W_v(q)))
        H_q = torch.tanh(self.W_q(q) + torch.einsum("btn,bnk->btk", C, self.W_q(v)))
        s_v = self.w_hv(H_v)[..., 0]
        s_q = self.w_hq(H_q)[..., 0]
        if v_mask is not None:
            s_v = s_v.masked_fill(~v_mask, float("-inf"))
        if q_mask is not None:
            s_q = s_q.masked_fill(~q_mask, float("-inf"))
        a_v = s_v.softmax(1)
        a_q = s_q.softmax(1)
        return torch.einsum("bn,bnd->bd", a_v, v), torch.einsum("bt,btd->bd", a_q, q), a_v, a_q
