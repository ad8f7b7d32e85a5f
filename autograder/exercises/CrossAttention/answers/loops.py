"""One query after another, with a softmax of its own that sums over what is allowed."""

import torch
from torch import nn


class CrossAttention(nn.Module):
    def __init__(self, d_query, d_context, d_out, qkv_bias=False):
        super().__init__()
        self.d_out = d_out
        self.W_query = nn.Linear(d_query, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_context, d_out, bias=qkv_bias)

    def forward(self, x, context, context_mask=None):
        if x.dim() != 3 or context.dim() != 3:
            raise ValueError(f"{x.dim()} and {context.dim()} dimensions, three each are wanted")
        if context_mask is None:
            context_mask = torch.ones(context.shape[:2], dtype=torch.bool, device=context.device)
        elif context_mask.dim() != 2:
            raise ValueError(f"a mask of {context_mask.dim()} dimensions, two are wanted")
        keys, values = self.W_key(context), self.W_value(context)
        found = []
        for place in range(x.shape[1]):
            query = self.W_query(x[:, place])  # (b, d_out)
            if context.shape[1] == 0:
                found.append(0 * query)
                continue
            scores = (keys * query[:, None]).sum(-1) / self.d_out**0.5  # (b, s)
            scores = scores.masked_fill(~context_mask, torch.finfo(scores.dtype).min)
            powers = (scores - scores.amax(-1, keepdim=True)).exp() * context_mask
            total = powers.sum(-1, keepdim=True)
            weights = powers / torch.where(total > 0, total, torch.ones_like(total))
            found.append((weights[..., None] * values).sum(1))
        return torch.stack(found, dim=1)
