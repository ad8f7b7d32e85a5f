# %% no_tanh: the affinity has no tanh
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

# %% projections_swapped: in the cross terms the projections are swapped: W_v of the question, W_q of the image; masks at the softmax alone
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

# %% softmax_features: softmax over dim -1, which has one entry, so all weights are 1
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
