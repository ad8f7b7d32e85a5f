# wrong: causal or padding instead of and
# expect: padding-or-past
import torch
from torch import nn


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.n_max = context_length
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.drop = nn.Dropout(p=dropout)
        self.register_buffer("mask", torch.ones(context_length, context_length, dtype=torch.bool).tril())

    def forward(self, x, padding_mask=None):
        b, n, _ = x.size()
        if n > self.n_max:
            raise ValueError(f"expected at most {self.n_max} tokens, got {n}")
        m = self.mask[:n, :n].unsqueeze(0)
        if padding_mask is not None:
            m = m | padding_mask.unsqueeze(1)
        s = torch.matmul(self.W_query(x), self.W_key(x).transpose(-2, -1))
        s = s / (self.W_key.out_features**0.5)
        s = s.masked_fill(torch.logical_not(m), -torch.inf)
        return torch.matmul(self.drop(s.softmax(dim=-1)), self.W_value(x))
