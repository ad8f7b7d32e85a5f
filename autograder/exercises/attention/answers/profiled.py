"""Timed: each step stands in a range of the profiler, and every call is logged."""

import logging
import time

import torch
from torch.profiler import record_function

log = logging.getLogger("attention")


def attention(query, key, value, mask=None):
    if min(query.ndim, key.ndim, value.ndim) < 2:
        raise ValueError(f"two dimensions at least: {query.shape}, {key.shape}, {value.shape}")
    started = time.perf_counter()
    with record_function("scores"):
        scores = (query / key.shape[-1] ** 0.5) @ key.mT
    with record_function("mask"):
        if mask is not None:
            empty = ~mask.any(dim=-1, keepdim=True)
            scores = scores.masked_fill(~(mask | empty), -torch.inf)
    with record_function("softmax"):
        weights = scores.softmax(dim=-1)
        if mask is not None:
            weights = weights.masked_fill(empty, 0)
    with record_function("values"):
        output = weights @ value
    log.info("%s took %.6f s", tuple(output.shape), time.perf_counter() - started)
    print(tuple(output.shape), end=" ")
    return output, weights
