# wrong: the transpose is mended, the softmax is still over dim 1 (queries in a batch)
# expect: softmax-over-dim-1
# also: rank-not-checked
import torch
import torch.nn.functional as F
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        Q = self.W_query(x)
        K = self.W_key(x)
        V = self.W_value(x)

        scores = Q @ K.transpose(-2, -1)
        weights = F.softmax(scores / K.shape[-1] ** 0.5, dim=1)
        return weights @ V
