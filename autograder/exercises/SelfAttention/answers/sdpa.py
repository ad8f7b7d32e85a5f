"""torch's own function."""

import torch.nn.functional as F
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        for name in ("W_query", "W_key", "W_value"):
            setattr(self, name, nn.Linear(d_in, d_out, bias=qkv_bias))

    def forward(self, x):
        if x.dim() not in (2, 3):
            raise ValueError(f"{tuple(x.shape)} is neither (n, d_in) nor (b, n, d_in)")
        return F.scaled_dot_product_attention(self.W_query(x), self.W_key(x), self.W_value(x))
