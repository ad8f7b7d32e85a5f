"""torch's own function."""

import torch.nn.functional as F
from torch import nn


class SingleHeadSelfAttention(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.tovalues = nn.Linear(k, k, bias=False)
        self.tokeys = nn.Linear(k, k, bias=False)
        self.toqueries = nn.Linear(k, k, bias=False)

    def forward(self, x):
        if x.ndim != 2:
            raise ValueError("one sequence only")
        q, k, v = (layer(x)[None] for layer in (self.toqueries, self.tokeys, self.tovalues))
        return F.scaled_dot_product_attention(q, k, v)[0]
