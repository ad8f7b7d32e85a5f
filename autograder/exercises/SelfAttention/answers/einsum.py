"""einsum, the scale on the query."""

import torch
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query, self.W_key, self.W_value = (nn.Linear(d_in, d_out, bias=bool(qkv_bias)) for _ in range(3))
        self.scale = d_out**-0.5

    def forward(self, x):
        if len(x.shape) not in {2, 3}:
            raise ValueError("wrong rank")
        q = self.W_query(x).mul(self.scale)
        scores = torch.einsum("...id,...jd->...ij", q, self.W_key(x))
        return torch.einsum("...ij,...jd->...id", scores.softmax(-1), self.W_value(x))
