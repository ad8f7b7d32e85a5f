# wrong: cut into heads by view(b, h, t, k) without a transpose; merged without one too
# expect: reshaped-both-ways
# also: reshaped-in-one-step, merged-without-transposing
import torch
import torch.nn.functional as F
from torch import nn


class SelfAttentionWide(nn.Module):
    def __init__(self, k, n_heads=8):
        super().__init__()
        self.k = k
        self.n_heads = n_heads
        self.tokeys = nn.Linear(k, k * n_heads, bias=False)
        self.toqueries = nn.Linear(k, k * n_heads, bias=False)
        self.tovalues = nn.Linear(k, k * n_heads, bias=False)
        self.unifyheads = nn.Linear(n_heads * k, k)

    def forward(self, x):
        b, t, k = x.size()
        h = self.n_heads
        queries = self.toqueries(x).view(b, h, t, k)
        keys = self.tokeys(x).view(b, h, t, k)
        values = self.tovalues(x).view(b, h, t, k)
        dots = torch.einsum("bhik,bhjk->bhij", queries, keys) / k**0.5
        out = torch.einsum("bhij,bhjk->bhik", F.softmax(dots, dim=-1), values)
        return self.unifyheads(out.reshape(b, t, h * k))
