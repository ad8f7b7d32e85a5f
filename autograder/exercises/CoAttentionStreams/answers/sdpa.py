"""torch's own function; pairs with nothing to attend to are let through and cleared; streams in a dict."""

import torch.nn.functional as F
from torch import nn


class MultiHeadCrossAttention(nn.Module):
    def __init__(self, d_query, d_context, d_out, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads:
            raise ValueError(f"{num_heads} heads cannot share {d_out} features")
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_query, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x, context, context_mask=None):
        if (x.ndim, context.ndim) != (3, 3):
            raise ValueError(f"expected three dimensions each: {tuple(x.shape)}, {tuple(context.shape)}")
        parts = (self.W_query(x), self.W_key(context), self.W_value(context))
        q, k, v = (z.unflatten(2, (self.num_heads, -1)).transpose(1, 2) for z in parts)
        if context_mask is None:
            found = F.scaled_dot_product_attention(q, k, v)
        else:
            some = context_mask.any(1)[:, None, None, None]
            mask = context_mask[:, None, None, :] | ~some
            found = F.scaled_dot_product_attention(q, k, v, attn_mask=mask).masked_fill(~some, 0.0)
        return self.out_proj(found.transpose(1, 2).flatten(2))


class CoAttentionStreams(nn.Module):
    def __init__(self, d, num_heads):
        super().__init__()
        for way in ("v_to_q", "q_to_v"):
            self.add_module(way, MultiHeadCrossAttention(d_query=d, d_context=d, d_out=d, num_heads=num_heads))

    def forward(self, v, q, v_mask=None, q_mask=None):
        new_v = self.v_to_q(x=v, context=q, context_mask=q_mask)
        new_q = self.q_to_v(x=q, context=v, context_mask=v_mask)
        return [new_v, new_q]
