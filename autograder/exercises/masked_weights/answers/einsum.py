"""einsum, and minus infinity added."""

import torch


def masked_weights(query, key):
    for x in (query, key):
        if x.dim() != 3:
            raise ValueError(f"expected three dimensions, got {x.dim()}")
    scores = torch.einsum("bid,bjd->bij", query, key)
    t = scores.shape[-1]
    bias = torch.full((t, t), -torch.inf, dtype=scores.dtype, device=scores.device).triu(1)
    return (scores + bias).softmax(dim=-1)
