# wrong: not causal; no output projection
# expect: not-causal, no-output-projection
import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads:
            raise ValueError(f"{d_out} features, {num_heads} heads")
        self.num_heads = num_heads
        self.context_length = context_length
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        b, n, _ = x.shape
        if n > self.context_length:
            raise ValueError(f"{n} tokens, but {self.context_length} is the most")
        q = self.W_query(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
        k = self.W_key(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
        v = self.W_value(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
        w = self.dropout((q @ k.mT / k.shape[-1] ** 0.5).softmax(-1))
        return (w @ v).transpose(1, 2).flatten(2)
