import torch
from einops import reduce
from torch import nn


def rms(x, eps):
    return (reduce(x * x, "... d -> ... 1", "mean") + eps).rsqrt()


class RMSNorm(nn.Module):
    def __init__(self, d, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones((d,)), requires_grad=True)
        self.eps = eps

    def _norm(self, x):
        return x * rms(x, self.eps)

    def forward(self, x):
        out = self._norm(x.to(torch.float64 if x.dtype is torch.float64 else torch.float32))
        return out.type_as(x) * self.weight

    def extra_repr(self):
        return f"{len(self.weight)}, eps={self.eps}"
