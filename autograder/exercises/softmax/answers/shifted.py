"""Shifted by the largest score, with the slices of -inf mended by `where`; the maximum is not detached."""

import torch


def softmax(scores, dim=-1):
    largest = torch.max(scores, dim=dim, keepdim=True).values
    shift = torch.where(torch.isneginf(largest), torch.zeros_like(largest), largest)
    powers = torch.exp(scores - shift)
    total = torch.sum(powers, dim=dim, keepdim=True)
    return powers / torch.where(total == 0, torch.ones_like(total), total)
