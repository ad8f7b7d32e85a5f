# wrong: keys ask and queries answer; the scale is k instead of its root
# expect: query-and-key-swapped, scale-without-root
# also: rank-not-checked
import torch
import torch.nn as nn


class SingleHeadSelfAttention(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.k = k
        self.toqueries = nn.Linear(k, k, bias=False)
        self.tokeys = nn.Linear(k, k, bias=False)
        self.tovalues = nn.Linear(k, k, bias=False)

    def forward(self, x):
        Q = self.toqueries(x)
        K = self.tokeys(x)
        V = self.tovalues(x)
        A = torch.softmax((K @ Q.T) / self.k, dim=-1)
        return A @ V
