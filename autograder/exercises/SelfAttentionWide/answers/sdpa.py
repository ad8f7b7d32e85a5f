"""torch's own function for the middle, chunk and stack for the heads."""

import torch
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
        if x.dim() != 3:
            raise ValueError(f"expected (b, t, k), got {tuple(x.shape)}")
        q, k, v = (
            torch.stack(layer(x).chunk(self.h, dim=-1), dim=1) for layer in (self.toqueries, self.tokeys, self.tovalues)
        )
        out = F.scaled_dot_product_attention(q, k, v)
        return self.unifyheads(torch.cat(out.unbind(1), dim=-1))
