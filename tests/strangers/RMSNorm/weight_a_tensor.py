# wrong: weight is a plain tensor, which does not learn; the mean is taken over the tokens (dim=1)
# expect: weight-missing, over-dimension-1
# also: over-the-tokens
import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, d, eps=1e-6):
        super(RMSNorm, self).__init__()
        self.eps = eps
        self.weight = torch.ones(d)

    def forward(self, x):
        wide = x.double() if x.dtype == torch.float64 else x.float()
        ms = (wide * wide).mean(dim=1, keepdim=True)
        out = wide / torch.sqrt(ms + self.eps)
        return (self.weight * out).to(x.dtype)
