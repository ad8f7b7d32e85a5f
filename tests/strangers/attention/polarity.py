# wrong: True means hidden; a query with nothing to attend to gives NaN
# expect: mask-inverted, nan-in-empty-rows
# also: rank-not-checked
import torch


def attention(query, key, value, mask=None):
    scale = 1.0 / (query.shape[-1] ** 0.5)
    scores = torch.einsum("...td,...sd->...ts", query, key) * scale
    if mask is not None:
        scores = scores.masked_fill(mask, -torch.inf)
    weights = torch.softmax(scores, dim=-1)
    return torch.einsum("...ts,...sd->...td", weights, value), weights
