# wrong: gamma is the share that is divided
# expect: bands-exchanged
import math

import torch


def yarn_frequencies(head_dim, base, factor, original_length, slow=1, fast=32):
    if head_dim % 2:
        raise ValueError(f"odd head_dim {head_dim}")
    theta = base ** (-torch.arange(0, head_dim, 2).double() / head_dim)
    r = original_length * theta / (2 * math.pi)
    gamma = torch.clamp((r - slow) / (fast - slow), 0, 1)
    return (1 - gamma) * theta + gamma * theta / factor
