# wrong: assert instead of ValueError for heads; long sequences are not refused; otherwise as in the book
# expect: assert-instead-of-an-error, length-not-checked
import torch
import torch.nn as nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        assert d_out % num_heads == 0, "d_out must be divisible by num_heads"
        self.h = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.tril(torch.ones(context_length, context_length)))

    def forward(self, x):
        B, N, _ = x.shape
        q, k, v = (lin(x).view(B, N, self.h, -1).transpose(1, 2) for lin in (self.W_query, self.W_key, self.W_value))
        att = q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5
        att = att.masked_fill(self.mask[:N, :N] == 0, float("-inf"))
        att = self.dropout(att.softmax(dim=-1))
        return self.out_proj((att @ v).transpose(1, 2).contiguous().view(B, N, -1))
