"""One head after another, in a loop, with a softmax of one's own."""

import torch
import torch.nn.functional as F
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = dropout

    def forward(self, x):
        made = (layer(x) for layer in (self.W_query, self.W_key, self.W_value))
        heads = [each.unflatten(2, (self.num_heads, -1)).transpose(1, 2) for each in made]
        found = F.scaled_dot_product_attention(*heads, dropout_p=self.dropout * self.training, is_causal=True)
        return self.out_proj(found.transpose(1, 2).flatten(2))


def one_head(query, key, value):
    t, width = query.shape[-2:]
    scores = query @ key.transpose(-2, -1) / width**0.5
    hidden = torch.ones(t, t, dtype=torch.bool).triu(1)
    powers = scores.exp().masked_fill(hidden, 0.0)
    return powers / powers.sum(-1, keepdim=True) @ value


def check_heads(candidate):
    x = torch.randn(3, 6, 10, generator=torch.Generator().manual_seed(8))
    layer = candidate(d_in=10, d_out=12, context_length=6, dropout=0.0, num_heads=4)
    chunks = [layer.W_query(x).split(3, dim=2), layer.W_key(x).split(3, dim=2), layer.W_value(x).split(3, dim=2)]
    found = torch.cat([one_head(*three) for three in zip(*chunks, strict=True)], dim=2)
    difference = layer(x) - layer.out_proj(found)
    assert difference.abs().max() < 1e-4, f"off by up to {difference.abs().max()}"
