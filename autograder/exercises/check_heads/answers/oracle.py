"""A right class to compare with, which gets the candidate's weights by name, in several sizes."""

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
    torch.manual_seed(6)
    for d_in, d_out, t, heads, bias in [
        (6, 12, 5, 3, False),
        (5, 8, 4, 4, True),
        (3, 6, 1, 2, False),
        (4, 8, 6, 2, True),
    ]:
        layer = candidate(d_in, d_out, 7, 0.2, heads, qkv_bias=bias).eval()
        own = MultiHeadAttention(d_in, d_out, 7, 0.2, heads, qkv_bias=bias).eval()
        own.load_state_dict(dict(layer.named_parameters()))
        x = torch.randn(2, t, d_in)
        torch.testing.assert_close(layer(x), own(x), atol=1e-5, rtol=1e-4)
