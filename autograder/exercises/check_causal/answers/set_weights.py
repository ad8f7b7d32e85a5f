"""The weights of the candidate are set, to those of a right class of one's own."""

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
    torch.manual_seed(1)
    own = CausalAttention(7, 3, 6, 0.0).double()
    layer = candidate(d_in=7, d_out=3, context_length=6, dropout=0.0).double()
    with torch.no_grad():
        for name in ("W_query", "W_key", "W_value"):
            getattr(layer, name).weight.copy_(getattr(own, name).weight)
    x = torch.randn(2, 6, 7, dtype=torch.float64)
    padding = torch.tensor([[True, False, True, True, False, True], [False, False, True, True, True, False]])
    for t in (6, 2):
        assert torch.allclose(layer(x[:, :t]), own(x[:, :t])), f"{t} tokens"
        got = layer(x[:, :t], padding_mask=padding[:, :t])
        assert torch.allclose(got, own(x[:, :t], padding[:, :t])), f"{t} tokens, some of them padding"
