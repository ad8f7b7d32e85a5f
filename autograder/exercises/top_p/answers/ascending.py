"""Upwards: what has 1 - p together at most goes."""

import torch


def top_p(logits, p):
    if not 0.0 < p <= 1.0:
        raise ValueError("p must lie in (0, 1]")
    values, places = logits.sort(dim=-1)
    tail = values.softmax(-1).cumsum(-1) <= 1 - p
    tail[..., -1] = False
    return torch.where(tail.gather(-1, places.argsort(-1)), -torch.inf, logits).to(logits.dtype)
