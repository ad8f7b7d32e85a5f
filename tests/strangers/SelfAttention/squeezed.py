# wrong: squeeze() at the end drops every dimension of size 1, a batch of one too
# expect: squeezed
# also: rank-not-checked
import torch
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        if len(x.shape) < 3:
            x = x[None]
        q = self.W_query(x)
        k = self.W_key(x)
        v = self.W_value(x)
        alpha = (q @ k.transpose(1, 2)) / (k.shape[2] ** 0.5)
        alpha = alpha.softmax(2)
        return (alpha @ v).squeeze()
