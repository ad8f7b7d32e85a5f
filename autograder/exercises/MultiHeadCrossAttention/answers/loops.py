"""One head after another, each on its rows of the matrices."""

import torch
import torch.nn.functional as F
from torch import nn


class MultiHeadCrossAttention(nn.Module):
    def __init__(self, d_query, d_context, d_out, num_heads, qkv_bias=False):
        super().__init__()
        if d_out // num_heads * num_heads != d_out:
            raise ValueError(f"{d_out} is no multiple of {num_heads}")
        self.heads, self.width = num_heads, d_out // num_heads
        self.W_query = nn.Linear(d_query, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)

    def part(self, layer, z, head):
        rows = slice(head * self.width, (head + 1) * self.width)
        return F.linear(z, layer.weight[rows], None if layer.bias is None else layer.bias[rows])

    def forward(self, x, context, context_mask=None):
        if len(x.shape) != 3 or len(context.shape) != 3:
            raise ValueError("(b, t, d_query) and (b, s, d_context)")
        if context_mask is not None and len(context_mask.shape) != 2:
            raise ValueError("(b, s)")
        found = []
        for head in range(self.heads):
            q = self.part(self.W_query, x, head)
            k, v = self.part(self.W_key, context, head), self.part(self.W_value, context, head)
            scores = q @ k.mT / self.width**0.5
            if context_mask is not None:
                seen = context_mask[:, None, :]
                some = seen.any(-1, keepdim=True)
                scores = torch.where(some, torch.where(seen, scores, -torch.inf), 0.0)
                found.append(torch.where(some, scores.softmax(-1), 0.0) @ v)
            else:
                found.append(scores.softmax(-1) @ v)
        return self.out_proj(torch.cat(found, dim=-1))
