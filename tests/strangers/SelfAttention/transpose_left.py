# wrong: the softmax is mended, but transpose(1, 2) still fails on a single sequence
# expect: transpose-from-the-front
# also: rank-not-checked
import torch.nn.functional as F
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        Q, K, V = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = Q @ K.transpose(1, 2)
        weights = F.softmax(scores / K.shape[-1] ** 0.5, dim=-1)
        return weights @ V
