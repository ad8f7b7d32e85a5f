# wrong: turns are counted in the stretched text, and exponents go by i
# expect: exponent-i, turns-in-the-longer-text
import math

import torch


def yarn_frequencies(head_dim, base, factor, original_length, slow=1, fast=32):
    if head_dim % 2:
        raise ValueError(f"odd head_dim {head_dim}")
    i = torch.arange(head_dim // 2)
    theta = base ** (-i / head_dim)
    r = original_length * factor * theta / (2 * math.pi)
    gamma = ((r - slow) / (fast - slow)).clamp(0, 1)
    return gamma * theta + (1 - gamma) * theta / factor
