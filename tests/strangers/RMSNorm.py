# %% layer_norm: a LayerNorm: subtracts the mean, divides by the standard deviation, and has a bias
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

# %% length_one: divides by the length and not by the root of the mean; eps outside of the root; all in the dtype of x
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

# %% llama_float: Meta's code: .float() takes float64 down to float32
# expect: through-float32
import torch
from torch import nn


class RMSNorm(torch.nn.Module):
    def __init__(self, dim: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def _norm(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        output = self._norm(x.float()).type_as(x)
        return output * self.weight

# %% weight_a_tensor: weight is a plain tensor, which does not learn; the mean is taken over the tokens (dim=1)
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
