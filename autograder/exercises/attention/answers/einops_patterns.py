"""With einops: both products by pattern, any leading dimensions as an ellipsis."""

import torch
from einops import einsum


def attention(query, key, value, mask=None):
    for tensor in (query, key, value):
        if tensor.ndim < 2:
            raise ValueError(f"(..., tokens, features) is needed, got {tuple(tensor.shape)}")
    scores = einsum(query * key.shape[-1] ** -0.5, key, "... t d, ... s d -> ... t s")
    if mask is not None:
        alone = ~mask.any(-1, keepdim=True)
        scores = torch.where(mask | alone, scores, float("-inf"))
    weights = torch.softmax(scores, -1)
    if mask is not None:
        weights = torch.where(alone, 0.0, weights)
    return einsum(weights, value, "... t s, ... s dv -> ... t dv"), weights
