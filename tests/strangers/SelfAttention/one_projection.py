# wrong: one projection for queries, keys and values
# expect: one-projection
# also: rank-not-checked
import torch
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        proj = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_query = self.W_key = self.W_value = proj

    def forward(self, x):
        q = self.W_query(x)
        k = self.W_key(x)
        v = self.W_value(x)
        s = torch.matmul(q, k.transpose(-2, -1)) / k.size(-1) ** 0.5
        return torch.matmul(torch.softmax(s, -1), v)
