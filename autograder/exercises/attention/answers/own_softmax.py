"""A stable softmax of one's own, in which a row without keys is 0 divided by 1."""

import torch


def softmax(scores, allowed):
    if scores.shape[-1] == 0:
        return scores
    scores = scores.masked_fill(~allowed, float("-inf"))
    largest = scores.amax(dim=-1, keepdim=True)
    largest = largest.masked_fill(largest == float("-inf"), 0).detach()
    powers = torch.exp(scores - largest)
    total = powers.sum(dim=-1, keepdim=True)
    return powers / torch.where(total == 0, torch.ones_like(total), total)


def attention(query, key, value, mask=None):
    if query.dim() < 2:
        raise ValueError(f"query: expected (..., t, d), got {query.shape}")
    if key.dim() < 2:
        raise ValueError(f"key: expected (..., s, d), got {key.shape}")
    if value.dim() < 2:
        raise ValueError(f"value: expected (..., s, dv), got {value.shape}")
    scores = query.matmul(key.transpose(-1, -2)) * (key.size(-1) ** -0.5)
    allowed = torch.ones_like(scores, dtype=torch.bool) if mask is None else mask
    weights = softmax(scores, allowed)
    return weights.matmul(value), weights
