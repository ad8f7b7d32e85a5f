# wrong: only one thing: a query with nothing to attend to gives NaN
# expect: nan-in-empty-rows
import torch
from torch import nn


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.context_length = context_length
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.tril(torch.ones(context_length, context_length, dtype=torch.bool)))

    def forward(self, x, padding_mask=None):
        b, n, d_in = x.shape
        if n > self.context_length:
            raise ValueError(f"got {n} tokens, expected at most {self.context_length}")
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        mask = self.mask[:n, :n].expand(b, n, n)
        if padding_mask is not None:
            mask = mask & padding_mask.unsqueeze(1)
        scores = torch.einsum("bqd,bkd->bqk", q, k) / k.shape[-1] ** 0.5
        scores = scores.masked_fill(~mask, float("-inf"))
        w = self.dropout(scores.softmax(dim=-1))
        return torch.einsum("bqk,bkd->bqd", w, v)
