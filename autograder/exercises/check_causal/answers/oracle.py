"""A right class to compare with, which gets the candidate's weights by name, in several sizes and with biases."""

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


def check_causal(candidate):
    torch.manual_seed(4)
    for d_in, d_out, t, longest, bias in [(6, 4, 5, 5, False), (3, 8, 4, 7, True), (5, 5, 1, 3, False)]:
        layer = candidate(d_in, d_out, longest, 0.3, qkv_bias=bias).eval()
        own = CausalAttention(d_in, d_out, longest, 0.3, qkv_bias=bias).eval()
        own.load_state_dict(dict(layer.named_parameters()), strict=False)
        x = torch.randn(3, t, d_in)
        padding = torch.rand(3, t) < 0.6
        for masked in (None, padding, torch.zeros(3, t, dtype=torch.bool)):
            torch.testing.assert_close(layer(x, masked), own(x, masked), atol=1e-5, rtol=1e-4)
