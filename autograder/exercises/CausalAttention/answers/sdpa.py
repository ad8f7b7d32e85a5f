"""torch's own function under a mask that leaves no row empty; what is empty becomes 0 afterwards."""

import torch
import torch.nn.functional as F
from torch import nn


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query, self.W_key, self.W_value = (nn.Linear(d_in, d_out, bias=qkv_bias) for _ in range(3))
        self.register_buffer("mask", torch.ones(context_length, context_length, dtype=torch.bool).tril())
        self.dropout = dropout

    def forward(self, x, padding_mask=None):
        if x.dim() != 3:
            raise ValueError("expected (b, n, d_in)")
        n, most = x.shape[1], self.mask.shape[1]
        if n > most:
            raise ValueError(f"expected at most {most} tokens, got {n}")
        allowed = self.mask[None, :n, :n].repeat(len(x), 1, 1)
        if padding_mask is not None:
            allowed &= padding_mask[:, None, :]
        empty = ~allowed.any(-1, keepdim=True)
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        p = self.dropout if self.training else 0.0
        output = F.scaled_dot_product_attention(q, k, v, attn_mask=allowed | empty, dropout_p=p)
        return output.masked_fill(empty, 0.0)
