"""masked_fill, then nan_to_num on the weights: no gradient flows back through what was filled, so this is right."""

import torch


def attention(query, key, value, mask=None):
    for tensor in (query, key, value):
        if tensor.ndim < 2:
            raise ValueError(f"at least two dimensions expected, got {tuple(tensor.shape)}")
    scores = (query * key.shape[-1] ** -0.5) @ key.mT
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        weights = torch.nan_to_num(weights, nan=0.0)
    return weights @ value, weights
