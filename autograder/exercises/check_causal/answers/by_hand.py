"""Weights that are set by hand, so that the numbers can be worked out on paper."""

import math

import torch
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


LN3 = math.log(3)


def near(got, expected):
    assert got.shape == (1, 3, 4), tuple(got.shape)
    assert (got[0, :, 0] - torch.tensor(expected)).abs().max() < 1e-3, got


def check_causal(candidate):
    layer = candidate(2, 4, 3, 0.0)
    with torch.no_grad():
        for linear in (layer.W_query, layer.W_key, layer.W_value):
            linear.weight.zero_()
        layer.W_query.weight[0, 1] = 2.0  # the second feature, always 1, asks
        layer.W_key.weight[0, 0] = LN3  # the first one is looked for: scores are 2 ln 3 / 2 times it
        layer.W_value.weight[0, 0] = 6.0
    x = torch.tensor([[[1.0, 1.0], [0.0, 1.0], [-1.0, 1.0]]])
    first, second, third = 6.0, 0.0, -6.0
    near(layer(x), [first, (3 * first + second) / 4, (9 * first + 3 * second + third) / 13])
    near(layer(x, torch.tensor([[True, False, True]])), [first, first, (9 * first + third) / 10])
    near(layer(x, torch.tensor([[False, True, True]])), [0.0, second, (3 * second + third) / 4])
