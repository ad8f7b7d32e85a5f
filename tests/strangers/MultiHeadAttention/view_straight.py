# wrong: cut into heads by view(b, h, n, s) without a transpose, so tokens and heads mix
# expect: reshaped-in-one-step
import torch
import torch.nn.functional as F
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("d_out=%d num_heads=%d" % (d_out, num_heads))
        self.nh, self.hd, self.ctx = num_heads, d_out // num_heads, context_length
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.drop = nn.Dropout(dropout)
        self.register_buffer("mask", torch.tril(torch.ones(context_length, context_length)).view(1, 1, context_length, context_length))

    def forward(self, x):
        B, T, C = x.size()
        if T > self.ctx:
            raise ValueError("T=%d context_length=%d" % (T, self.ctx))
        q = self.W_query(x).view(B, self.nh, T, self.hd)
        k = self.W_key(x).view(B, self.nh, T, self.hd)
        v = self.W_value(x).view(B, self.nh, T, self.hd)
        att = (q @ k.transpose(-2, -1)) * (1.0 / self.hd**0.5)
        att = att.masked_fill(self.mask[:, :, :T, :T] == 0, float("-inf"))
        att = self.drop(F.softmax(att, dim=-1))
        y = (att @ v).transpose(1, 2).contiguous().view(B, T, self.nh * self.hd)
        return self.out_proj(y)
