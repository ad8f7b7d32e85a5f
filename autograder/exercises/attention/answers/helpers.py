"""Step by step in helper functions, with notes on sizes as plain strings."""

# ruff: noqa: F722, F821
import torch

Mask = "bool tensor that broadcasts to (..., t, s)"


def refuse_vectors(**tensors):
    for name, tensor in tensors.items():
        if tensor.ndim < 2:
            raise ValueError(f"{name} is no matrix: {list(tensor.shape)}")


def scores_of(query: "... t d", key: "... s d") -> "... t s":
    width = key.size(-1)
    return torch.einsum("...qd,...kd->...qk", query.div(width**0.5), key)


def hide(scores: "... t s", mask: Mask) -> "... t s":
    mask = mask.broadcast_to(scores.shape)
    alone = ~mask.any(-1, keepdim=True)
    return scores.masked_fill(~mask & ~alone, float("-inf"))


def attention(query: "... t d", key: "... s d", value: "... s v", mask: Mask = None) -> tuple:
    refuse_vectors(query=query, key=key, value=value)
    scores = scores_of(query, key)
    if mask is None:
        weights = scores.softmax(-1)
    else:
        weights = hide(scores, mask).softmax(-1) * mask.any(-1, keepdim=True)
    return torch.einsum("...qk,...kv->...qv", weights, value), weights
