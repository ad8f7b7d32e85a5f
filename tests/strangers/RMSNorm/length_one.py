# wrong: divides by the length and not by the root of the mean; eps outside of the root; all in the dtype of x
# expect: sum-for-mean, eps-outside-the-root
import torch
from torch import nn


class RMSNorm(nn.Module):
    """Divide each token by the root of the mean of its squares, then weigh its features: (…, d) -> (…, d)."""

    def __init__(self, d, eps=1e-6):
        super().__init__()
        self.d = d
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(self.d))

    def forward(self, x):
        rms = x.norm(dim=-1, keepdim=True)
        x = x / (rms + self.eps)
        return x * self.weight
