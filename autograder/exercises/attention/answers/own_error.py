"""Errors of one's own, which are ValueErrors too; a function checks and raises them."""

import torch
import torch.nn.functional as F


class AttentionError(Exception):
    """The base of all errors here."""


class ShapeError(AttentionError, ValueError):
    def __init__(self, name, shape):
        super().__init__(f"{name}: expected (..., tokens, features), got {tuple(shape)}")
        self.shape = shape


def require_tokens(**tensors):
    for name, tensor in tensors.items():
        if tensor.dim() < 2:
            raise ShapeError(name, tensor.shape)


def attention(query, key, value, mask=None):
    require_tokens(query=query, key=key, value=value)
    scores = query / key.shape[-1] ** 0.5 @ key.transpose(-2, -1)
    if mask is None:
        weights = F.softmax(scores, dim=-1)
    else:
        some = mask.any(-1, keepdim=True)
        weights = F.softmax(torch.where(mask | ~some, scores, -torch.inf), dim=-1) * some
    return weights @ value, weights
