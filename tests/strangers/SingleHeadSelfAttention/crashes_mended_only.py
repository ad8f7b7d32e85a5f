# wrong: the weights are applied to x instead of the values; only the crashes of the original are mended
# expect: inputs-as-values
# also: rank-not-checked
import torch
import torch.nn.functional as F
from torch import nn


class SingleHeadSelfAttention(nn.Module):
    """One attention head for one sequence: (t, k) -> (t, k)."""

    def __init__(self, k):
        super().__init__()
        self.k = k
        self.toqueries = nn.Linear(k, k, bias=False)
        self.tokeys = nn.Linear(k, k, bias=False)
        self.tovalues = nn.Linear(k, k, bias=False)

    def forward(self, x):
        queries = self.toqueries(x)
        keys = self.tokeys(x)
        values = self.tovalues(x)

        scores = torch.mm(queries, keys.transpose(0, 1))
        scaled = scores / self.k**0.5
        weights = F.softmax(scaled, dim=1)
        return torch.mm(weights, x)
