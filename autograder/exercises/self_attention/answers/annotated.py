"""Annotations that name the dimensions, as plain strings, and einsum with an ellipsis."""

import torch
from torch import Tensor


def weights_of(x: "Tensor[b, t, k]") -> "Tensor[b, t, t]":  # noqa: F821
    scores: Tensor = torch.einsum("...ik,...jk->...ij", x, x)
    return torch.softmax(scores, dim=-1)


def self_attention(x: "Float[Tensor, 'b t k']") -> "Float[Tensor, 'b t k']":  # noqa: F722, F821
    if x.ndim != 3:
        raise ValueError("expected (b, t, d), got " + str(tuple(x.shape)))
    return torch.einsum("...ij,...jk->...ik", weights_of(x), x)
