# wrong: each gradient is clipped by its own length
# expect: each-for-itself
import torch


def clip_gradients(gradients, max_norm):
    clipped = []
    for g in gradients:
        if g is None:
            clipped.append(None)
            continue
        length = torch.sqrt((g.double() ** 2).sum())
        if length > max_norm:
            g = (g.double() * (max_norm / length)).to(g.dtype)
        clipped.append(g)
    return clipped
