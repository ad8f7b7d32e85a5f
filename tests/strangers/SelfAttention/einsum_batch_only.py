# wrong: einsum with a fixed batch dimension refuses a single sequence; no scale
# expect: no-scale, einsum-for-a-batch
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
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        energy = torch.einsum("nqd,nkd->nqk", [q, k])
        attention = torch.softmax(energy, dim=2)
        return torch.einsum("nqk,nkd->nqd", [attention, v])
