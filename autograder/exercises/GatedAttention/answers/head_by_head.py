import math

import torch
from torch import nn


class GatedAttention(nn.Module):
    """One head after another, each with its part of the gate."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        self.width, rest = divmod(d_model, num_heads)
        if rest:
            raise ValueError(f"cannot split d_model={d_model} into num_heads={num_heads}")
        self.W_query, self.W_key = nn.Linear(d_model, d_model, bias=False), nn.Linear(d_model, d_model, bias=False)
        self.W_value, self.W_gate = nn.Linear(d_model, d_model, bias=False), nn.Linear(d_model, d_model, bias=False)
        self.out_proj = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x):
        n = x.shape[1]
        bias = torch.full((n, n), -math.inf, dtype=x.dtype, device=x.device).triu(1)
        parts = zip(
            *(y(x).split(self.width, dim=2) for y in (self.W_query, self.W_key, self.W_value, self.W_gate)), strict=True
        )
        outputs = []
        for q, k, v, g in parts:
            scores = torch.bmm(q, k.transpose(1, 2)) / math.sqrt(self.width) + bias
            outputs.append(torch.bmm(torch.softmax(scores, dim=2), v) * g.sigmoid())
        return self.out_proj(torch.cat(outputs, dim=2))
