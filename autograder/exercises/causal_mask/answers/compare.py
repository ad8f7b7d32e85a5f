"""Row numbers against column numbers."""

import torch


def causal_mask(t, device=None):
    place = torch.arange(t, device=device)
    return place.unsqueeze(1) >= place
