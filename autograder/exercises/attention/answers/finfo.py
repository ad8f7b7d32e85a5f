"""A finite fill that suits the dtype, and the mask once more on the weights."""

import torch


def attention(query, key, value, mask=None):
    ranks = {"query": query.dim(), "key": key.dim(), "value": value.dim()}
    too_low = [name for name, rank in ranks.items() if rank < 2]
    if too_low:
        raise ValueError(f"{too_low} should have at least 2 dimensions")
    d = torch.tensor(key.shape[-1], dtype=query.dtype, device=query.device)
    scores = query @ key.swapaxes(-1, -2) / torch.sqrt(d)
    if mask is not None:
        scores = torch.where(mask, scores, torch.finfo(scores.dtype).min)
    weights = torch.nn.Softmax(dim=-1)(scores)
    if mask is not None:
        weights = torch.where(mask, weights, 0.0)
    return weights @ value, weights
