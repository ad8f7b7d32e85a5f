"""Four dimensions all the way, view and transpose, the scale on the scores."""

import torch.nn.functional as F
from torch import nn


class SelfAttentionWide(nn.Module):
    def __init__(self, k, n_heads=8):
        super().__init__()
        self.k, self.h = k, n_heads
        self.tokeys = nn.Linear(k, k * n_heads, bias=False)
        self.toqueries = nn.Linear(k, k * n_heads, bias=False)
        self.tovalues = nn.Linear(k, k * n_heads, bias=False)
        self.unifyheads = nn.Linear(n_heads * k, k)

    def forward(self, x):
        b, t, k = x.size()
        queries, keys, values = (
            layer(x).view(b, t, self.h, k).transpose(1, 2) for layer in (self.toqueries, self.tokeys, self.tovalues)
        )
        weights = F.softmax(queries @ keys.transpose(2, 3) / k**0.5, dim=-1)
        return self.unifyheads((weights @ values).transpose(1, 2).reshape(b, t, self.h * k))
