"""One sequence at a time, one query at a time, with a softmax of one's own."""

import torch
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def one(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        rows = []
        for query in q:
            scores = k @ query / k.shape[1] ** 0.5
            powers = (scores - scores.max()).exp()
            rows.append(powers / powers.sum() @ v)
        return torch.stack(rows)

    def forward(self, x):
        if x.dim() == 2:
            return self.one(x)
        if x.dim() == 3:
            return torch.stack([self.one(sequence) for sequence in x])
        raise ValueError(f"expected (n, d_in) or (b, n, d_in), got {tuple(x.shape)}")
