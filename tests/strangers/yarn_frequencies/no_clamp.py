# wrong: gamma is not cut
# expect: not-cut-at-the-ends
import math

import torch


def yarn_frequencies(head_dim, base, factor, original_length, slow=1, fast=32):
    if head_dim % 2:
        raise ValueError(f"odd head_dim {head_dim}")
    i = torch.arange(head_dim // 2)
    theta = 1 / base ** (2 * i / head_dim)
    r = original_length * theta / (2 * math.pi)
    gamma = (r - slow) / (fast - slow)
    return gamma * theta + (1 - gamma) * theta / factor
