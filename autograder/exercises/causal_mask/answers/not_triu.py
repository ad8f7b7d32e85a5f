"""What is not above the diagonal."""

import torch


def causal_mask(t, device=None):
    return torch.logical_not(torch.triu(torch.ones((t, t), dtype=torch.bool, device=device), diagonal=1))
