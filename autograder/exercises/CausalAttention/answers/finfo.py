"""A finite fill that suits the dtype, and the mask once more on the weights; F.dropout; no buffer of use."""

import torch
import torch.nn.functional as F
from torch import nn


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_value = nn.Linear(d_in, d_out, qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, qkv_bias)
        self.W_query = nn.Linear(d_in, d_out, qkv_bias)
        self.register_buffer("mask", torch.tensor(context_length), persistent=False)
        self.context_length = context_length
        self.p = dropout

    def forward(self, x, padding_mask=None):
        if x.ndim != 3:
            raise ValueError(f"x has {x.ndim} dimensions, not 3")
        n = x.shape[1]
        if n > self.context_length:
            raise ValueError(f"{n} tokens do not fit into a context of {self.context_length}")
        place = torch.arange(n, device=x.device)
        allowed = (place[:, None] >= place)[None]
        if padding_mask is not None:
            allowed = torch.logical_and(allowed, padding_mask[:, None])
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = torch.einsum("bid,bjd->bij", q, k) * k.shape[-1] ** -0.5
        scores = torch.where(allowed, scores, torch.finfo(scores.dtype).min)
        weights = torch.where(allowed, scores.softmax(-1), 0.0)
        return torch.einsum("bij,bjd->bid", F.dropout(weights, self.p, self.training), v)
