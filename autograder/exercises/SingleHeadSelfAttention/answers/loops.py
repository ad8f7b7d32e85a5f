"""One query at a time."""

import torch
import torch.nn.functional as F
from torch import nn


class SingleHeadSelfAttention(nn.Module):
    def __init__(self, k):
        nn.Module.__init__(self)
        self.toqueries = nn.Linear(k, k, bias=False)
        self.tokeys = nn.Linear(k, k, bias=False)
        self.tovalues = nn.Linear(k, k, bias=False)

    def forward(self, x):
        if len(x.size()) != 2:
            raise ValueError("expected two dimensions")
        queries, keys, values = self.toqueries(x), self.tokeys(x), self.tovalues(x)
        rows = []
        for i in range(x.size(0)):
            scores = torch.stack([torch.dot(queries[i], keys[j]) for j in range(x.size(0))]) / keys.size(1) ** 0.5
            weights = F.softmax(scores, dim=0)
            rows.append(sum(weights[j] * values[j] for j in range(x.size(0))))
        return torch.stack(rows)
