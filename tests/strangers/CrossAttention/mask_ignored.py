# wrong: the mask is not used
# expect: context-mask-ignored
# also: rank-of-the-mask-not-checked
import math

import torch
from torch import nn


class CrossAttention(nn.Module):
    def __init__(self, d_query, d_context, d_out, qkv_bias=False):
        super().__init__()
        self.d = d_out
        self.W_query = nn.Linear(d_query, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_context, d_out, bias=qkv_bias)

    def forward(self, x, context, context_mask=None):
        b, t, _ = x.shape
        b, s, _ = context.shape
        att = torch.einsum("btd,bsd->bts", self.W_query(x), self.W_key(context)) / math.sqrt(self.d)
        att = att.softmax(dim=2)
        return torch.einsum("bts,bsd->btd", att, self.W_value(context))
