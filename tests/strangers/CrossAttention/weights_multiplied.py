# wrong: the mask is multiplied with the weights after the softmax; softmax over the queries
# expect: context-mask-after-softmax, softmax-over-queries
# also: rank-not-checked, context-not-checked, rank-of-the-mask-not-checked
import torch
from torch import nn


class CrossAttention(nn.Module):
    def __init__(self, d_query, d_context, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_query, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.softmax = nn.Softmax(dim=1)

    def forward(self, x, context, context_mask=None):
        query = self.W_query(x)
        key = self.W_key(context)
        value = self.W_value(context)
        attention_map = self.softmax(query.bmm(key.permute(0, 2, 1)) / key.size(2) ** 0.5)
        if context_mask is not None:
            attention_map = attention_map * context_mask.unsqueeze(1).to(attention_map.dtype)
        return attention_map.bmm(value)
