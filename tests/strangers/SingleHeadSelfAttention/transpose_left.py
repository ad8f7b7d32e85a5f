# wrong: transpose() is still called without dimensions
# expect: transpose-of-nothing
# also: rank-not-checked
import torch
import torch.nn.functional as F
from torch import nn


class SingleHeadSelfAttention(nn.Module):
    def __init__(self, k):
        super(SingleHeadSelfAttention, self).__init__()
        self.k = k
        self.toqueries = nn.Linear(k, k, bias=False)
        self.tokeys = nn.Linear(k, k, bias=False)
        self.tovalues = nn.Linear(k, k, bias=False)

    def forward(self, x):
        queries = self.toqueries(x)
        keys = self.tokeys(x)
        values = self.tovalues(x)
        scores = torch.mm(queries, keys.transpose())
        weights = F.softmax(scores / self.k**0.5, dim=1)
        return torch.mm(weights, values)
