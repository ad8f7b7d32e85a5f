# wrong: merged without transposing back
# expect: merged-without-transposing
import torch
from torch import nn


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, k, h=4):
        super().__init__()
        if k % h != 0:
            raise ValueError(f"{k} features can't be cut into {h} heads")
        self.h = h
        self.s = k // h
        self.toqueries = nn.Linear(k, k, bias=False)
        self.tokeys = nn.Linear(k, k, bias=False)
        self.tovalues = nn.Linear(k, k, bias=False)
        self.unifyheads = nn.Linear(k, k)

    def forward(self, x):
        if x.dim() not in (2, 3):
            raise ValueError("(t, k) or (b, t, k), please")
        shape = x.shape
        x = x.reshape(-1, shape[-2], shape[-1])
        b, t, k = x.shape
        Q = self.toqueries(x).reshape(b, t, self.h, self.s).transpose(1, 2)
        K = self.tokeys(x).reshape(b, t, self.h, self.s).transpose(1, 2)
        V = self.tovalues(x).reshape(b, t, self.h, self.s).transpose(1, 2)
        A = torch.softmax(Q.matmul(K.transpose(2, 3)) / self.s**0.5, dim=3)
        out = A.matmul(V).reshape(b, t, k)
        return self.unifyheads(out).reshape(shape)
