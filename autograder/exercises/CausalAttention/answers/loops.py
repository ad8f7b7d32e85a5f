"""One sequence and one query at a time, over the keys that are allowed; a softmax of one's own."""

import torch
from torch import nn


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.most = context_length

    def one(self, x, real):
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        rows = []
        for i, query in enumerate(queries):
            scores = keys[: i + 1] @ query / keys.shape[1] ** 0.5
            allowed = torch.ones_like(scores) if real is None else real[: i + 1].to(scores.dtype)
            lowest = torch.finfo(scores.dtype).min
            largest = scores.detach().masked_fill(allowed == 0, lowest).max()
            powers = (scores - largest).masked_fill(allowed == 0, 0.0).exp() * allowed
            weights = powers / powers.sum().clamp(min=0.5)  # the largest is 1, so the sum is at least 1, or 0
            rows.append(self.dropout(weights) @ values[: i + 1])
        return torch.stack(rows)

    def forward(self, x, padding_mask=None):
        if x.dim() != 3:
            raise ValueError("expected a batch")
        if x.shape[1] > self.most:
            raise ValueError(f"{x.shape[1]} tokens, {self.most} allowed")
        real = [None] * len(x) if padding_mask is None else padding_mask
        return torch.stack([self.one(sequence, which) for sequence, which in zip(x, real, strict=True)])
