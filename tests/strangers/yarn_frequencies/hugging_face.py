# wrong: the ramp of the released code, over the index of the pairs
# expect: ramp-over-pairs
import math

import torch


def yarn_frequencies(head_dim, base, factor, original_length, slow=1, fast=32):
    def pair_of(turns):
        return head_dim * math.log(original_length / (turns * 2 * math.pi)) / (2 * math.log(base))

    if head_dim % 2 != 0:
        raise ValueError("head_dim must be even")
    low, high = max(math.floor(pair_of(fast)), 0), min(math.ceil(pair_of(slow)), head_dim - 1)
    inv_freq = 1.0 / base ** (torch.arange(0, head_dim, 2).float() / head_dim)
    ramp = ((torch.arange(head_dim // 2).float() - low) / max(high - low, 0.001)).clamp(0, 1)
    return inv_freq / factor * ramp + inv_freq * (1 - ramp)
