"""The padded keys and values are set to 0 as well, the masks are numbers, and it prints the share that is real."""

import time

import torch
import torch.nn.functional as F
from torch import nn


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.register_buffer("mask", torch.tril(torch.ones(context_length, context_length)))
        self.context_length = context_length
        self.dropout = dropout

    def forward(self, x, padding_mask=None):
        began = time.time()
        if x.ndim != 3:
            raise ValueError("x: (b, n, d_in)")
        b, n, d_in = x.shape
        if n > self.context_length:
            raise ValueError("context_length is {}, but n is {}".format(self.context_length, n))  # noqa: UP032
        real = x.new_ones(b, n) if padding_mask is None else padding_mask.to(x.dtype)
        causal = self.mask[:n, :n].to(x.dtype).view(1, n, n)
        seen = torch.einsum("bij,bj->bij", causal.expand(b, n, n), real)
        queries = self.W_query(x)
        keys = self.W_key(x) * real[:, :, None]
        values = self.W_value(x) * real[:, :, None]
        scores = torch.einsum("bid,bjd->bij", queries, keys) / keys.shape[-1] ** 0.5
        scores = scores.masked_fill(seen == 0, torch.finfo(scores.dtype).min)
        weights = F.softmax(scores, dim=-1) * seen
        weights = F.dropout(weights, p=self.dropout, training=self.training)
        print("padded" if padding_mask is not None else "unpadded", (b, n), f"{time.time() - began:.4f} s")
        return torch.einsum("bij,bjd->bid", weights, values)
