# wrong: a LayerNorm: subtracts the mean, divides by the standard deviation, and has a bias
# expect: sample-layernorm, bias-added, eps-outside-the-root
# also: mean-subtracted, sample-variance, variance-for-mean-square, fact-biases
import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, d, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d))
        self.bias = nn.Parameter(torch.zeros(d))

    def forward(self, x):
        h = x if x.dtype == torch.float64 else x.float()
        mean = h.mean(dim=-1, keepdim=True)
        std = h.std(dim=-1, keepdim=True)
        h = (h - mean) / (std + self.eps)
        return h.to(x.dtype) * self.weight + self.bias
