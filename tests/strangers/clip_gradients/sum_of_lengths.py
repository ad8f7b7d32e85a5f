# wrong: the length is the sum of the lengths and not the root of the sum of squares; Nones are dropped
# expect: lengths-added, none-left-out
import torch


def clip_gradients(gradients, max_norm):
    gradients = [g for g in gradients if g is not None]
    total = 0.0
    for g in gradients:
        total += g.float().norm().item()
    if total <= max_norm:
        return [g.clone() for g in gradients]
    return [g * (max_norm / total) for g in gradients]
