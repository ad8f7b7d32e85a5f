"""The length of the lengths, as torch computes it."""

import math


def clip_gradients(gradients, max_norm):
    norms = [g.double().norm(2).item() for g in gradients if g is not None]
    total = math.hypot(*norms)
    if total <= max_norm:
        return [None if g is None else g.clone() for g in gradients]
    return [None if g is None else (g.double() / total * max_norm).to(g.dtype) for g in gradients]
