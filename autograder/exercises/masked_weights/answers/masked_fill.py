"""As notebook 003 writes it, with the sizes from the input."""

import torch
import torch.nn.functional as F


def masked_weights(query, key):
    if query.ndim != 3 or key.ndim != 3:
        raise ValueError("query and key must be (b, t, d)")
    _, t, _ = query.shape
    wei = query @ key.transpose(-2, -1)
    tril = torch.tril(torch.ones(t, t, device=query.device))
    wei = wei.masked_fill(tril == 0, float("-inf"))
    return F.softmax(wei, dim=-1)
