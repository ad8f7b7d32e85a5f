"""torch's own layer, nn.MultiheadAttention, with the candidate's weights."""

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
    torch.manual_seed(2)
    layer, theirs = candidate(8, 8, 5, 0.0, 4), nn.MultiheadAttention(8, 4, batch_first=True)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([layer.W_query.weight, layer.W_key.weight, layer.W_value.weight]))
        theirs.in_proj_bias.zero_()
        theirs.out_proj.weight.copy_(layer.out_proj.weight)
        theirs.out_proj.bias.copy_(layer.out_proj.bias)
    x = torch.randn(2, 5, 8)
    hidden = torch.ones(5, 5, dtype=torch.bool).triu(1)
    expected = theirs(x, x, x, attn_mask=hidden)[0]
    if not torch.allclose(layer(x), expected, atol=1e-5):
        raise AssertionError("torch's own layer gives something else")
