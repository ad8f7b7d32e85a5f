"""Indices spelled out; what is hidden gets the lowest number there is, and nothing left is multiplied away."""

import torch
from torch import nn


class CrossAttention(nn.Module):
    def __init__(self, d_query, d_context, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_query, d_out, bias=qkv_bias)
        self.W_key, self.W_value = (nn.Linear(d_context, d_out, bias=qkv_bias) for _ in range(2))

    def forward(self, x, context, context_mask=None):
        if {x.ndim, context.ndim} != {3}:
            raise ValueError("two batches of sequences are wanted")
        queries = self.W_query(x) * self.W_query.out_features**-0.5
        scores = torch.einsum("bif,bjf->bij", queries, self.W_key(context))
        if context_mask is not None:
            if context_mask.ndim != 2:
                raise ValueError("the mask should have two dimensions")
            scores = torch.where(context_mask[:, None], scores, torch.finfo(scores.dtype).min)
        weights = torch.softmax(scores, -1)
        if context_mask is not None:
            weights = weights * context_mask[:, None]
        return torch.einsum("bij,bjf->bif", weights, self.W_value(context))
