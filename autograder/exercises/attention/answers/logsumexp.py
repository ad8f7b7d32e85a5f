"""Weights as exp(scores - logsumexp), with a mask made where none is given."""

import torch


def attention(query, key, value, mask=None):
    for x in [query, key, value]:
        if len(x.shape) < 2:
            raise ValueError(f"shape {tuple(x.shape)}, but at least 2 dimensions are needed")
    scores = torch.matmul(query * key.shape[-1] ** -0.5, key.transpose(-1, -2))
    if mask is None:
        mask = torch.ones((), dtype=torch.bool, device=query.device)
    mask = mask.expand_as(scores)
    seen = mask.any(dim=-1, keepdim=True)
    scores = torch.where(mask | ~seen, scores, -torch.inf)
    if scores.shape[-1] > 0:
        scores = scores - torch.logsumexp(scores, dim=-1, keepdim=True)
    weights = torch.where(seen, scores.exp(), 0)
    return torch.matmul(weights, value), weights
