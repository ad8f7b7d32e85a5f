"""torch's own function with scale 1, and the identity as values."""

import torch
import torch.nn.functional as F


def masked_weights(query, key):
    if query.dim() != 3 or key.dim() != 3:
        raise ValueError("expected (b, t, d)")
    b, t, _ = query.shape
    identity = torch.eye(t, dtype=query.dtype, device=query.device).expand(b, t, t)
    return F.scaled_dot_product_attention(query, key, identity, is_causal=True, scale=1.0)
