# wrong: softmax over dim 0, the queries; biases in the linear layers
# expect: softmax-over-queries, with-bias
# also: rank-not-checked, fact-biases
import torch
from torch import nn


class SingleHeadSelfAttention(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.scale = k**-0.5
        self.toqueries = nn.Linear(k, k)
        self.tokeys = nn.Linear(k, k)
        self.tovalues = nn.Linear(k, k)
        self.softmax = nn.Softmax(dim=0)

    def forward(self, x):
        att = self.toqueries(x).matmul(self.tokeys(x).t()) * self.scale
        return self.softmax(att).matmul(self.tovalues(x))
