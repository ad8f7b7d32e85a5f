# wrong: the mask is not given an axis for heads; scaled by d_out; the heads are not checked
# expect: scale-by-all-heads, indivisible-floored, ?
# also: nothing-left-is-nan, context-not-checked, rank-of-the-mask-not-checked
import torch
from torch import nn


class MultiHeadCrossAttention(nn.Module):
    def __init__(self, d_query, d_context, d_out, num_heads, qkv_bias=False):
        super().__init__()
        self.h = num_heads
        self.d_out = d_out
        self.W_query = nn.Linear(d_query, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x, context, context_mask=None):
        b, t, _ = x.shape
        s = context.shape[1]
        q = self.W_query(x).view(b, t, self.h, -1).transpose(1, 2)
        k = self.W_key(context).view(b, s, self.h, -1).transpose(1, 2)
        v = self.W_value(context).view(b, s, self.h, -1).transpose(1, 2)
        att = q @ k.transpose(2, 3) / self.d_out**0.5
        if context_mask is not None:
            att = att.masked_fill(~context_mask[:, None, :], float("-inf"))
        att = att.softmax(-1)
        return self.out_proj((att @ v).transpose(1, 2).reshape(b, t, self.d_out))
