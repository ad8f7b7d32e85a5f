"""It prints what it does, and how long that takes."""

import time

import torch

VERBOSE = True


def log(what, scores, begin):
    if VERBOSE:
        print(f"{what}: {tuple(scores.shape)}, {scores.dtype}, {1e3 * (time.perf_counter() - begin):.3f} ms")


def softmax(scores, dim=-1):
    begin = time.perf_counter()
    top, _ = torch.max(scores, dim, keepdim=True)
    log("largest", top, begin)
    empty = torch.isneginf(top)
    numerator = torch.exp(scores - torch.where(empty, 0.0, top))
    denominator = torch.where(empty, 1.0, numerator.sum(dim, True))
    log("sum", denominator, begin)
    return numerator / denominator
