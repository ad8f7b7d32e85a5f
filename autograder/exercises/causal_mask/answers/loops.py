"""Entry by entry, and moved to the device at the end."""

import torch


def causal_mask(t, device=None):
    mask = torch.zeros(t, t, dtype=torch.bool)
    for i in range(t):
        for j in range(i + 1):
            mask[i, j] = True
    return mask if device is None else mask.to(device)
