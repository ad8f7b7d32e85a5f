"""addmm with alpha for the scale, and log_softmax with exp."""

import torch
from torch import nn


class SingleHeadSelfAttention(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.toqueries = nn.Linear(k, k, bias=False)
        self.tokeys = nn.Linear(k, k, bias=False)
        self.tovalues = nn.Linear(k, k, bias=False)

    def forward(self, x):
        if not x.dim() == 2:
            raise ValueError(f"x has {x.dim()} dimensions, not 2")
        keys = self.tokeys(x)
        nothing = x.new_zeros(len(x), len(x))
        scores = torch.addmm(nothing, self.toqueries(x), keys.t(), alpha=1 / keys.shape[-1] ** 0.5)
        return torch.mm(torch.log_softmax(scores, 1).exp(), self.tovalues(x))
