"""The candidate gets the weights of one's own class, in float64."""

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


def check_heads(candidate):
    torch.manual_seed(9)
    own, layer = MultiHeadAttention(7, 6, 5, 0.0, 2).double(), candidate(7, 6, 5, 0.0, 2).double()
    layer.load_state_dict(own.state_dict())
    x = torch.randn(2, 5, 7, dtype=torch.float64)
    for t in range(1, 6):
        got, expected = layer(x[:, :t]), own(x[:, :t])
        assert got.shape == expected.shape and got.dtype == torch.float64
        assert torch.allclose(got, expected), f"{t} tokens"
