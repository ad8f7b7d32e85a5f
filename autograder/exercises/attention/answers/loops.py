"""One query at a time, over the flattened leading dimensions."""

import torch


def attention(query, key, value, mask=None):
    if query.dim() < 2 or key.dim() < 2 or value.dim() < 2:
        raise ValueError("too few dimensions")
    leading = torch.broadcast_shapes(query.shape[:-2], key.shape[:-2], value.shape[:-2])
    t, s, d = query.shape[-2], key.shape[-2], key.shape[-1]
    query, key, value = (x.expand(*leading, *x.shape[-2:]) for x in (query, key, value))
    if mask is None:
        mask = torch.ones(s, dtype=torch.bool, device=key.device)
    mask = mask.expand(*leading, t, s)
    rows = []
    for i in range(t):
        score = (query[..., i : i + 1, :] * key).sum(-1) / d**0.5  # (..., s)
        seen = mask[..., i, :]
        nothing = ~seen.any(-1, keepdim=True)
        row = score.masked_fill(~seen & ~nothing, float("-inf")).softmax(-1)
        rows.append(torch.where(nothing, torch.zeros_like(row), row))
    weights = torch.stack(rows, dim=-2)
    return (weights.unsqueeze(-1) * value.unsqueeze(-3)).sum(-2), weights
