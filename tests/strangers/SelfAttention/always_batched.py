# wrong: a single sequence comes back with a batch dimension; softmax over queries
# expect: batch-added, softmax-over-dim-1
# also: softmax-over-queries, rank-not-checked
import torch.nn.functional as F
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        if x.dim() == 2:
            x = x.unsqueeze(0)
        Q = self.W_query(x)
        K = self.W_key(x)
        V = self.W_value(x)
        scores = Q @ K.transpose(1, 2)
        weights = F.softmax(scores / K.shape[-1] ** 0.5, dim=1)
        return weights @ V
