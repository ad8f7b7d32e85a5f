"""With einsum, and `nn.Softmax` as a module."""

import torch
from torch import nn


def scaled_self_attention(x):
    if x.ndim != 3:
        raise ValueError(f"a batch of sequences has three dimensions, this has {x.ndim}")
    scores = torch.einsum("bik,bjk->bij", x / x.shape[-1] ** 0.5, x)
    return torch.einsum("bij,bjk->bik", nn.Softmax(dim=-1)(scores), x)
