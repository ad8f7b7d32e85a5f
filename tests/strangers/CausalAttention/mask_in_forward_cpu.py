# wrong: the mask is made on the CPU in every call and is no buffer; tril with diagonal 1 shows the next token
# expect: mask-not-moved, one-step-ahead
# also: rank-not-checked, fact-two-devices
import torch
from torch import nn


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.ctx = context_length
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, padding_mask=None):
        n = x.shape[-2]
        if n > self.ctx:
            raise ValueError(f"{n} tokens are more than {self.ctx}")
        mask = torch.tril(torch.ones(n, n), diagonal=1).bool()
        if padding_mask is not None:
            mask = mask & padding_mask.unsqueeze(-2)
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        s = q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5
        s = s.masked_fill(~mask, float("-inf"))
        w = torch.softmax(s, dim=-1)
        w = torch.where(torch.isnan(w), torch.zeros_like(w), w)
        return self.dropout(w) @ v
