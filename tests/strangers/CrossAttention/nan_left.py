# wrong: NaN where the whole context is hidden; scaled by d_query
# expect: nothing-left-is-nan, scale-by-input-width
# also: rank-of-the-mask-not-checked
import torch
from torch import nn


class CrossAttention(nn.Module):
    def __init__(self, d_query, d_context, d_out, qkv_bias=False):
        super().__init__()
        self.scale = d_query**-0.5
        self.W_query = nn.Linear(d_query, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_context, d_out, bias=qkv_bias)

    def forward(self, x, context, context_mask=None):
        b, t, _ = x.size()
        b2, s, _ = context.size()
        sim = torch.bmm(self.W_query(x), self.W_key(context).transpose(1, 2)) * self.scale
        if context_mask is not None:
            m = context_mask.view(b2, 1, s).expand(b, t, s)
            sim = sim.masked_fill(m == False, -float("inf"))
        attn = nn.functional.softmax(sim, dim=-1)
        return torch.bmm(attn, self.W_value(context))
