"""A right class to compare with, which gets the candidate's weights by name, in several sizes."""

import torch
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
    torch.manual_seed(6)
    for d_query, d_context, d_out, t, s, bias in [
        (6, 5, 4, 3, 7, False),
        (3, 8, 8, 5, 5, True),
        (4, 2, 6, 1, 3, False),
    ]:
        layer = candidate(d_query, d_context, d_out, qkv_bias=bias)
        own = CrossAttention(d_query, d_context, d_out, qkv_bias=bias)
        own.load_state_dict(dict(layer.named_parameters()))
        x, context, mask = torch.randn(3, t, d_query), torch.randn(3, s, d_context), torch.rand(3, s) < 0.6
        for masked in (None, mask, torch.zeros(3, s, dtype=torch.bool)):
            torch.testing.assert_close(layer(x, context, masked), own(x, context, masked), atol=1e-5, rtol=1e-4)
