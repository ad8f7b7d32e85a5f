"""torch's own function, twice: once for the output, once with an identity for the weights."""

import torch
import torch.nn.functional as F


def attention(query, key, value, mask=None):
    if any(t.dim() < 2 for t in (query, key, value)):
        raise ValueError("at least two dimensions")
    t, s = query.shape[-2], key.shape[-2]
    leading = torch.broadcast_shapes(query.shape[:-2], key.shape[:-2], value.shape[:-2])
    query, key, value = (x.expand(*leading, *x.shape[-2:]) for x in (query, key, value))
    if s == 0:
        zeros = query.sum(-1, keepdim=True) * 0
        return zeros * value.new_zeros(value.shape[-1]), zeros.expand(*leading, t, 1)[..., :0]
    empty = None
    if mask is not None:
        mask = mask.expand(*leading, t, s)
        empty = ~mask.any(-1, keepdim=True)
        mask = mask | empty
    identity = torch.eye(s, dtype=value.dtype, device=value.device).expand(*leading, s, s)
    weights = F.scaled_dot_product_attention(query, key, identity, attn_mask=mask)
    output = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    if empty is not None:
        weights, output = weights.masked_fill(empty, 0), output.masked_fill(empty, 0)
    return output, weights
