"""masked_fill before and after the softmax, scale on the scores."""

import math

import torch
import torch.nn.functional as F


def attention(query, key, value, mask=None):
    if min(query.dim(), key.dim(), value.dim()) < 2:
        raise ValueError("query, key and value need at least two dimensions")
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(key.size(-1))
    if mask is not None:
        empty = mask.logical_not().all(dim=-1, keepdim=True)
        scores = scores.masked_fill(mask == 0, -math.inf).masked_fill(empty, 0)
    weights = F.softmax(scores, dim=-1)
    if mask is not None:
        weights = weights.masked_fill(empty, 0)
    return torch.matmul(weights, value), weights
