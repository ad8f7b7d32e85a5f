# wrong: dim=2 and transpose(1, 2): only a batch works; the scale is by d_in, the input's width
# expect: transpose-from-the-front, scale-by-input-width
# also: rank-not-checked, fact-no-such-dimension
import torch
import torch.nn as nn


class SelfAttention(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.d_in = d_in
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        q = self.W_query(x)
        k = self.W_key(x)
        v = self.W_value(x)
        att = torch.bmm(q, k.transpose(1, 2)) / (self.d_in**0.5)
        att = torch.softmax(att, dim=2)
        return torch.bmm(att, v)
