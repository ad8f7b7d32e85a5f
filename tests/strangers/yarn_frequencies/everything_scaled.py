# wrong: position interpolation, and the temperature comes as well
# expect: all-divided, temperature-returned-too
import math

import torch


def yarn_frequencies(head_dim, base, factor, original_length, slow=1, fast=32):
    if head_dim % 2:
        raise ValueError("odd")
    theta = base ** (-torch.arange(0, head_dim, 2) / head_dim)
    return theta / factor, 0.1 * math.log(factor) + 1
