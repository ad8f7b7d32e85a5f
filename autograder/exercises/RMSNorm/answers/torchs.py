import torch
import torch.nn.functional as F
from torch import nn


class RMSNorm(nn.Module):
    """torch's own function, in float32 where the input is narrower."""

    def __init__(self, d, eps=1e-6):
        super().__init__()
        self.d, self.eps = d, eps
        self.weight = nn.Parameter(torch.ones(d))

    def forward(self, x):
        dtype = x.dtype
        if dtype in (torch.float16, torch.bfloat16):
            x = x.to(torch.float32)
        return F.rms_norm(x, (self.d,), self.weight.to(x.dtype), self.eps).to(dtype)
