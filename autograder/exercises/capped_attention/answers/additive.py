import math

import torch


def capped_attention(query, key, value, cap, mask=None):
    """The mask as a bias of 0 and -inf; the NaN of empty rows is taken out of the weights where it stands."""
    scores = query.div(math.sqrt(query.shape[-1])) @ key.transpose(-2, -1)
    scores = scores.div(cap).tanh().mul(cap)
    if mask is not None:
        empty = (~mask).all(dim=-1, keepdim=True)
        bias = torch.zeros(mask.shape, dtype=scores.dtype, device=scores.device)
        bias = bias.masked_fill(~mask & ~empty, -torch.inf)
        scores = scores + bias
    weights = scores.softmax(-1)
    if mask is not None:
        weights = weights * (~empty).to(weights.dtype)
    return weights @ value, weights
