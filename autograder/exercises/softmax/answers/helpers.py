"""Helpers, a class with a method called softmax, and recursion to bring `dim` to the end. Elsewhere torch's is used."""

import torch
import torch.nn.functional as F
from torch import softmax as torchs  # noqa: F401  to compare with, never called by the answer


def compare_with_torch(scores):
    return (F.softmax(scores, -1) - softmax(scores)).abs().max()


class Stable:
    @staticmethod
    def shift(scores):
        largest = scores.detach().amax(-1, keepdim=True)
        return scores - largest.clamp(min=torch.finfo(scores.dtype).min)

    @classmethod
    def softmax(cls, scores):
        powers = cls.shift(scores).exp()
        return powers / powers.sum(-1, keepdim=True).clamp(min=0.5)


def softmax(scores, dim=-1):
    if dim not in (-1, scores.dim() - 1):
        return softmax(scores.transpose(dim, -1)).transpose(dim, -1)
    return Stable.softmax(scores)
