"""Shapes as types: jaxtyping's annotations on arguments, results and variables, a named tuple as the result's type."""

from typing import Optional

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor


def hidden(scores: Float[Tensor, "*b t s"], mask: Bool[Tensor, "..."]) -> Float[Tensor, "*b t s"]:
    return scores.masked_fill(~mask, float("-inf"))


def attention(
    query: Float[Tensor, "*b t d"],
    key: Float[Tensor, "*b s d"],
    value: Float[Tensor, "*b s dv"],
    mask: Optional[Bool[Tensor, "..."]] = None,  # noqa: UP045
) -> "tuple[Float[Tensor, '*b t dv'], Float[Tensor, '*b t s']]":
    x: Tensor
    for x in (query, key, value):
        if x.dim() < 2:
            raise ValueError(f"expected (..., tokens, features), got {list(x.shape)}")
    scores: Float[Tensor, "*b t s"] = (query * key.size(-1) ** -0.5) @ key.transpose(-1, -2)
    if mask is None:
        weights: Float[Tensor, "*b t s"] = F.softmax(scores, dim=-1)
        return weights @ value, weights
    nobody: Bool[Tensor, "..."] = torch.logical_not(mask.any(-1, True))
    weights = F.softmax(hidden(scores, mask | nobody), dim=-1).masked_fill(nobody, 0.0)
    return weights @ value, weights
