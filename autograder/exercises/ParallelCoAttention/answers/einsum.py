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

    def weigh(self, hidden, layer, mask):
        logits = torch.einsum("bsk,ok->bs", hidden, layer.weight)
        if mask is None:
            return torch.softmax(logits, dim=1)
        # A token of its own, which may always be seen, takes all the weight where nothing else is left.
        nothing = ~mask.any(1, keepdim=True)
        logits = torch.cat([logits.masked_fill(~mask, -torch.inf), torch.zeros_like(logits[:, :1])], dim=1)
        never = torch.cat([torch.zeros_like(mask), ~nothing], dim=1)
        return torch.softmax(logits.masked_fill(never, -torch.inf), dim=1)[:, :-1]

    def forward(self, v, q, v_mask=None, q_mask=None):
        for x in (v, q):
            if x.dim() != 3:
                raise ValueError(f"expected three dimensions, got {x.dim()}")
        C = torch.einsum("bti,ij,bnj->btn", q, self.W_b.weight, v).tanh()
        for letters, mask in (("bn", v_mask), ("bt", q_mask)):
            if mask is not None:
                C = torch.einsum(f"btn,{letters}->btn", C, mask.to(C.dtype))
        Wv = torch.einsum("bnd,kd->bnk", v, self.W_v.weight)
        Wq = torch.einsum("btd,kd->btk", q, self.W_q.weight)
        a_v = self.weigh((Wv + torch.einsum("btn,btk->bnk", C, Wq)).tanh(), self.w_hv, v_mask)
        a_q = self.weigh((Wq + torch.einsum("btn,bnk->btk", C, Wv)).tanh(), self.w_hq, q_mask)
        return torch.einsum("bn,bnd->bd", a_v, v), torch.einsum("bt,btd->bd", a_q, q), a_v, a_q
