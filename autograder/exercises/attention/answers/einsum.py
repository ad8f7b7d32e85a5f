"""einsum with an ellipsis, the scale split over both factors, where for the mask, lists as the pair."""

import torch


def attention(query, key, value, mask=None):
    if query.ndim < 2 or key.ndim < 2 or value.ndim < 2:
        raise ValueError("rank")
    root = key.shape[-1] ** 0.25
    scores = torch.einsum("...td,...sd->...ts", query / root, key / root)
    if mask is None:
        weights = scores.softmax(dim=-1)
    else:
        allowed = mask.expand(scores.shape)
        lowest = torch.finfo(scores.dtype).min
        weights = torch.where(allowed, scores, torch.full_like(scores, lowest)).softmax(dim=-1)
        weights = weights * allowed
    return torch.einsum("...ts,...sv->...tv", weights, value), weights
