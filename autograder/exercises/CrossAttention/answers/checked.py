"""A class of errors of its own, type hints with the shapes in strings, and helpers beside the class."""

import math

import torch
import torch.nn as nn


class ShapeError(ValueError):
    """Something has the wrong number of dimensions."""


def check_rank(name: str, tensor: "torch.Tensor", rank: int) -> None:
    if tensor.ndim != rank:
        raise ShapeError(f"{name} has {tensor.ndim} dimensions instead of {rank}")


def hide(scores: "Float[torch.Tensor, 'b t s']", mask: "Bool[torch.Tensor, 'b s'] | None"):  # noqa: F722, F821
    return scores if mask is None else scores.masked_fill(~mask[:, None], -math.inf)


class CrossAttention(nn.Module):
    def __init__(self, d_query: int, d_context: int, d_out: int, qkv_bias: bool = False) -> None:
        nn.Module.__init__(self)
        self.W_query = nn.Linear(d_query, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.scale: float = 1 / math.sqrt(d_out)

    def forward(self, x: torch.Tensor, context: torch.Tensor, context_mask: "torch.Tensor | None" = None):
        check_rank("x", x, 3)
        check_rank("context", context, 3)
        if context_mask is not None:
            check_rank("context_mask", context_mask, 2)
        scores: torch.Tensor = torch.einsum("...td,...sd->...ts", self.W_query(x), self.W_key(context)) * self.scale
        scores = hide(scores, context_mask)
        if context_mask is not None:  # a row of nothing but -inf becomes a row of zeros, with weights that are hidden
            scores = torch.where(context_mask.any(1)[:, None, None], scores, torch.zeros_like(scores))
        weights = scores.softmax(dim=-1)
        if context_mask is not None:
            weights = weights * context_mask[:, None]
        return torch.einsum("...ts,...sd->...td", weights, self.W_value(context))
