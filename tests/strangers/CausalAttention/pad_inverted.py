# wrong: the padding mask's True is taken for padding; empty rows are NaN; no scale
# expect: padding-inverted, no-scale, nan-in-empty-rows
import torch
import torch.nn.functional as F
from torch import nn


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.context_length = context_length
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), diagonal=1).bool())

    def forward(self, x, padding_mask=None):
        b, t, d = x.shape
        if t > self.context_length:
            raise ValueError(f"{t} tokens, context {self.context_length}")
        q = self.W_query(x)
        k = self.W_key(x)
        v = self.W_value(x)
        att = q @ k.transpose(1, 2)
        att = att.masked_fill(self.mask[:t, :t], float("-inf"))
        if padding_mask is not None:
            att = att.masked_fill(padding_mask.unsqueeze(1), float("-inf"))
        att = self.dropout(F.softmax(att, dim=-1))
        return att @ v
