"""The lower triangle of ones, made on the device."""

import torch


def causal_mask(t, device=None):
    return torch.tril(torch.ones(t, t, device=device)).bool()
