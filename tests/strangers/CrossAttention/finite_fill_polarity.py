# wrong: True is taken for hidden; filled with -1e9
# expect: context-mask-inverted, context-mask-filled-with-1e9
# also: rank-not-checked, context-not-checked, rank-of-the-mask-not-checked
import torch
from torch import nn


class CrossAttention(nn.Module):
    def __init__(self, d_query, d_context, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_query, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_context, d_out, bias=qkv_bias)

    def forward(self, x, context, context_mask=None):
        q, k, v = self.W_query(x), self.W_key(context), self.W_value(context)
        dots = q @ k.transpose(1, 2) * (k.shape[-1] ** -0.5)
        if context_mask is not None:
            dots = dots.masked_fill(context_mask.unsqueeze(1), -1e9)
        return dots.softmax(dim=-1) @ v
