"""Softmax and scale as helpers of their own, with math and type hints."""

import math

from torch import Tensor


def scale(scores: Tensor, k: int) -> Tensor:
    return scores.div(math.sqrt(k))


def softmax(scores: Tensor) -> Tensor:
    shifted = scores - scores.max(dim=-1, keepdim=True).values
    powers = shifted.exp()
    return powers.div(powers.sum(dim=-1, keepdim=True))


def scaled_self_attention(x: Tensor) -> Tensor:
    if x.dim() != 3:
        raise ValueError(f"a batch (b, t, d) is wanted, this is {tuple(x.shape)}")
    b, t, k = x.size()
    scores = scale(x.matmul(x.permute(0, 2, 1)), k)
    assert scores.shape == (b, t, t)
    return softmax(scores).matmul(x)
