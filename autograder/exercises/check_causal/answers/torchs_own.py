"""torch's own attention on what the candidate's layers make, by functions for each case."""

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
        self.register_buffer("mask", torch.ones(context_length, context_length, dtype=torch.bool).tril())

    def forward(self, x, padding_mask=None):
        t = x.shape[1]
        allowed = self.mask[:t, :t] if padding_mask is None else self.mask[:t, :t] & padding_mask[:, None, :]
        scores = self.W_query(x) @ self.W_key(x).mT / self.W_query.out_features**0.5
        weights = scores.masked_fill(~allowed, -torch.inf).softmax(dim=-1).nan_to_num()
        return self.dropout(weights) @ self.W_value(x)


def right(layer, x, allowed):
    return F.scaled_dot_product_attention(layer.W_query(x), layer.W_key(x), layer.W_value(x), attn_mask=allowed)


def check_without_padding(candidate, x):
    layer = candidate(x.shape[-1], 4, 16, 0)
    got, expected = layer(x), right(layer, x, torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril())
    assert got.shape == expected.shape
    assert (got - expected).abs().max() < 1e-5


def check_with_padding(candidate, x, real):
    layer = candidate(x.shape[-1], 4, x.shape[1], 0)
    allowed = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril() & real[:, None]
    assert (layer(x, real) - right(layer, x, allowed)).abs().max() < 1e-5


def check_causal(candidate):
    x = torch.randn(2, 6, 8, generator=torch.Generator().manual_seed(2))
    check_without_padding(candidate, x)
    check_without_padding(candidate, x[:, :3])
    for gaps in ([1, 3], [4], [2, 3, 5]):
        real = torch.ones(2, 6, dtype=torch.bool)
        real[0, gaps] = False
        check_with_padding(candidate, x, real)
