# wrong: super().init() instead of super().__init__(); still weights times x
# expect: init-without-underscores, inputs-as-values
# also: rank-not-checked
import torch
import torch.nn.functional as F
from torch import nn


class SingleHeadSelfAttention(nn.Module):
    def __init__(self, k):
        super().init()
        self.k = k
        self.toqueries = nn.Linear(k, k, bias=False)
        self.tokeys = nn.Linear(k, k, bias=False)
        self.tovalues = nn.Linear(k, k, bias=False)

    def forward(self, x):
        q, keys, v = self.toqueries(x), self.tokeys(x), self.tovalues(x)
        w = F.softmax(torch.mm(q, keys.T) / self.k**0.5, dim=1)
        return torch.mm(w, x)
