# wrong: the mask is put on the queries' axis (unsqueeze(2)), which fails or hides queries
# expect: context-mask-hides-queries
# also: rank-of-the-mask-not-checked
import torch
from torch import nn


class CrossAttention(nn.Module):
    def __init__(self, d_query, d_context, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_query, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_context, d_out, bias=qkv_bias)

    def forward(self, x, context, context_mask=None):
        if x.dim() != 3 or context.dim() != 3:
            raise ValueError("x and context should be (b, t, d)")
        k = self.W_key(context)
        w = self.W_query(x) @ k.mT / k.shape[-1] ** 0.5
        if context_mask is not None:
            w = w.masked_fill(~context_mask.unsqueeze(2), float("-inf"))
        w = torch.softmax(w, dim=-1)
        w = w.masked_fill(w.isnan(), 0)
        return w @ self.W_value(context)
