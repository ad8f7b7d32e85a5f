# wrong: nn.Module is mended, forward is still inside __init__
# expect: forward-inside-init
import torch
import torch.nn.functional as F
from torch import nn


class SelfAttentionWide(nn.Module):
    def __init__(self, k, n_heads=8):
        super().__init__()
        self.k, self.n_heads = k, n_heads
        self.tokeys = nn.Linear(k, k * n_heads, bias=False)
        self.toqueries = nn.Linear(k, k * n_heads, bias=False)
        self.tovalues = nn.Linear(k, k * n_heads, bias=False)
        self.unifyheads = nn.Linear(n_heads * k, k)

        def forward(self, x):
            b, t, k = x.size()
            h = self.n_heads
            q = self.toqueries(x).view(b, t, h, k).transpose(1, 2)
            key = self.tokeys(x).view(b, t, h, k).transpose(1, 2)
            v = self.tovalues(x).view(b, t, h, k).transpose(1, 2)
            w = F.softmax(q @ key.transpose(-2, -1) / k**0.5, dim=-1)
            return self.unifyheads((w @ v).transpose(1, 2).reshape(b, t, h * k))
