"""torch's own function for all heads; a row of nothing may see all, and is then set to 0."""

import torch.nn.functional as F
from torch import nn


class MultiHeadCrossAttention(nn.Module):
    def __init__(self, d_query, d_context, d_out, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads:
            raise ValueError(f"d_out = {d_out}, num_heads = {num_heads}")
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_query, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)

    def cut(self, z):
        b, n, d = z.shape
        return z.reshape(b, n, self.num_heads, d // self.num_heads).permute(0, 2, 1, 3)

    def forward(self, x, context, context_mask=None):
        if x.dim() != 3 or context.dim() != 3 or (context_mask is not None and context_mask.dim() != 2):
            raise ValueError("wrong number of dimensions")
        q, k, v = self.cut(self.W_query(x)), self.cut(self.W_key(context)), self.cut(self.W_value(context))
        if context_mask is None:
            found = F.scaled_dot_product_attention(q, k, v)
        else:
            seen = context_mask[:, None, None, :].expand(-1, 1, x.shape[1], -1)
            empty = ~seen.any(-1, keepdim=True)
            found = F.scaled_dot_product_attention(q, k, v, attn_mask=seen | empty).masked_fill(empty, 0.0)
        return self.out_proj(found.permute(0, 2, 1, 3).flatten(2))
