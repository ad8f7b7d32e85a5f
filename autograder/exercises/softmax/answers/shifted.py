"""Shifted by the largest score, by `torch.max`, whose maximum is not detached."""

import torch


def softmax(scores, dim=-1):
    shifted = scores - torch.max(scores, dim=dim, keepdim=True).values
    return torch.exp(shifted) / torch.sum(torch.exp(shifted), dim=dim, keepdim=True)
