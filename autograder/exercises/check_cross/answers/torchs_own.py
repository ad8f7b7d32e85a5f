"""torch's own attention on what the candidate's layers make."""

import torch
import torch.nn.functional as F
from torch import nn


class CrossAttention(nn.Module):
    def __init__(self, d_query, d_context, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_query, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_context, d_out, bias=qkv_bias)

    def forward(self, x, context, context_mask=None):
        scores = self.W_query(x) @ self.W_key(context).mT / self.W_query.out_features**0.5
        if context_mask is not None:
            scores = scores.masked_fill(~context_mask[:, None], -torch.inf)
        return scores.softmax(-1).nan_to_num() @ self.W_value(context)


def check_cross(candidate):
    torch.manual_seed(3)
    layer = candidate(d_query=9, d_context=5, d_out=8)
    x, context = torch.randn(2, 6, 9), torch.randn(2, 4, 5)
    mask = torch.tensor([[True, True, False, True], [False, True, True, True]])
    queries, keys, values = layer.W_query(x), layer.W_key(context), layer.W_value(context)
    for masked, allowed in [(None, None), (mask, mask[:, None].expand(2, 6, 4))]:
        expected = F.scaled_dot_product_attention(queries, keys, values, attn_mask=allowed)
        assert torch.allclose(layer(x, context, context_mask=masked), expected, atol=1e-5)
