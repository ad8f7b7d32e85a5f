"""It prints shapes and times, in the order of the formulas, with a softmax by hand; a list is returned."""

import time

import torch
from torch import nn

VERBOSE = True


def my_softmax(logits, mask=None):
    if mask is not None:
        logits = logits.masked_fill(mask == False, torch.finfo(logits.dtype).min)  # noqa: E712
    shifted = logits - torch.max(logits, dim=1, keepdim=True).values
    e = torch.exp(shifted)
    a = e / e.sum(dim=1, keepdim=True)
    if mask is not None:
        a = a * mask.to(a.dtype)
    return a


class ParallelCoAttention(nn.Module):
    def __init__(self, d, k):
        super().__init__()
        self.d = d
        self.k = k
        self.W_b = nn.Linear(d, d, bias=False)
        self.W_v = nn.Linear(d, k, bias=False)
        self.W_q = nn.Linear(d, k, bias=False)
        self.w_hv = nn.Linear(k, 1, bias=False)
        self.w_hq = nn.Linear(k, 1, bias=False)

    def forward(self, v, q, v_mask=None, q_mask=None):
        start = time.time()
        if len(v.shape) != 3 or len(q.shape) != 3:
            raise ValueError("need batches of tokens, v: " + str(v.shape) + ", q: " + str(q.shape))
        b, n, d = v.shape
        t = q.shape[1]
        C = torch.tanh(torch.matmul(q, self.W_b(v).permute(0, 2, 1)))
        if VERBOSE:
            print("C:", C.shape, "should be", (b, t, n))
        if v_mask is not None:
            if VERBOSE:
                print("v_mask:", v_mask.shape, "should be", (b, n))
            C = C * v_mask.reshape(b, 1, n).to(C.dtype)
        if q_mask is not None:
            C = C * q_mask.reshape(b, t, 1).to(C.dtype)
        C_t = C.permute(0, 2, 1)
        Hv = torch.tanh(self.W_v(v) + torch.matmul(C_t, self.W_q(q)))
        Hq = torch.tanh(self.W_q(q) + torch.matmul(C, self.W_v(v)))
        av = my_softmax(self.w_hv(Hv).reshape(b, n), v_mask)
        aq = my_softmax(self.w_hq(Hq).reshape(b, t), q_mask)
        v_hat = torch.sum(av.reshape(b, n, 1) * v, dim=1)
        q_hat = torch.sum(aq.reshape(b, t, 1) * q, dim=1)
        print(f"forward took {(time.time() - start) * 1000:.1f} ms")
        return [v_hat, q_hat, av, aq]
