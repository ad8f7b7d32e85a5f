"""Flattened to one leading dimension, an additive mask through baddbmm, and reshaped back."""

import math

import torch


def attention(query, key, value, mask=None):
    if query.dim() < 2 or key.dim() < 2 or value.dim() < 2:
        raise ValueError("query, key and value must have at least 2 dimensions")
    leading = torch.broadcast_shapes(query.shape[:-2], key.shape[:-2], value.shape[:-2])

    def flat(x):
        return x.expand(leading + x.shape[-2:]).reshape(math.prod(leading), *x.shape[-2:])

    q, k, v = flat(query), flat(key), flat(value)
    t, s = q.shape[-2], k.shape[-2]
    bias = torch.zeros(leading + (t, s), dtype=query.dtype, device=query.device)
    if mask is not None:
        seen = mask.expand(leading + (t, s))
        some = seen.any(-1, keepdim=True)
        bias = bias.masked_fill(~seen & some, float("-inf"))
    scores = torch.baddbmm(flat(bias), q, k.transpose(1, 2), alpha=k.shape[-1] ** -0.5)
    weights = torch.softmax(scores, -1).reshape(leading + (t, s))
    if mask is not None:
        weights = weights * some.to(weights.dtype)
    output = torch.bmm(flat(weights), v).reshape(leading + (t, v.shape[-1]))
    return output, weights
