"""Attention without parameters by definition: softmax(x xᵀ) x, in float64, differentiable, without a matmul."""

import math

import torch

from . import qkv
from .remembered import remembered

# The running example of all lessons, after notebook 004: 9 tokens, 6 features.
SENTENCE = [
    [0.92, 0.05, 0.03, 0.02, 0.01, 0.00],
    [0.04, 0.88, 0.10, 0.76, 0.05, 0.02],
    [0.02, 0.04, 0.05, 0.03, 0.01, 0.91],
    [0.03, 0.15, 0.87, 0.72, 0.06, 0.65],
    [0.90, 0.06, 0.02, 0.01, 0.01, 0.00],
    [0.05, 0.82, 0.12, 0.69, 0.04, 0.03],
    [0.02, 0.10, 0.91, 0.78, 0.07, 0.08],
    [0.91, 0.04, 0.03, 0.02, 0.01, 0.00],
    [0.03, 0.06, 0.04, 0.81, 0.89, 0.02],
]


@remembered
def softmax(scores: torch.Tensor, dim: int = -1) -> torch.Tensor:
    """The softmax along `dim`, of the scores' shape. -inf gets 0, and so does every entry of a slice of -inf alone."""
    scores = scores.double().movedim(dim, -1)
    return qkv.softmax(scores, scores > -torch.inf).movedim(-1, dim)


@remembered
def self_attention(x: torch.Tensor, scaled: bool = False) -> torch.Tensor:
    """Every token averages all tokens of its sequence, by the softmax of their dot products: (…, t, k) -> (…, t, k).

    `scaled`: the dot products are divided by √k.
    """
    x = x.double()
    scores = (x.unsqueeze(-2) * x.unsqueeze(-3)).sum(-1)  # (…, t, t)
    weights = qkv.softmax(scores / math.sqrt(x.shape[-1]) if scaled else scores)
    return (weights.unsqueeze(-1) * x.unsqueeze(-3)).sum(-2)  # (…, t, t, k) summed over the tokens attended to


@remembered
def largest_score(x: torch.Tensor, scaled: bool = False) -> float:
    """The largest absolute score, so that checks can bring scores to a size they need."""
    size = (x.double() ** 2).sum(-1).max().item()  # no two tokens score higher than the longest with itself
    return size / math.sqrt(x.shape[-1]) if scaled else size


def constant_vector_length(c: float, k: int) -> float:
    """The Euclidean length of a vector of k entries c, from its definition."""
    return math.sqrt(math.fsum(c * c for _ in range(k)))
