# wrong: the values are made from x, and W_value has x's width; no scale
# expect: values-from-x, value-layer-as-wide-as-x, no-scale
# also: nothing-left-is-nan, rank-not-checked, context-not-checked, rank-of-the-mask-not-checked
import torch
from torch import nn


class CrossAttention(nn.Module):
    def __init__(self, d_query, d_context, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_query, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_query, d_out, bias=qkv_bias)

    def forward(self, x, context, context_mask=None):
        q = self.W_query(x)
        k = self.W_key(context)
        v = self.W_value(x)
        scores = q @ k.transpose(1, 2)
        if context_mask is not None:
            scores = scores.masked_fill(~context_mask[:, None, :], float("-inf"))
        return torch.softmax(scores, dim=-1) @ v
