# wrong: qkv_bias is not handed on, the layers always have a bias
# expect: always-bias
# also: rank-not-checked
import math

import torch
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out)
        self.W_key = nn.Linear(d_in, d_out)
        self.W_value = nn.Linear(d_in, d_out)

    def forward(self, x):
        Q = self.W_query(x)
        K = self.W_key(x)
        V = self.W_value(x)
        A = torch.softmax(Q @ K.transpose(-2, -1) / math.sqrt(K.size(-1)), -1)
        return A @ V
