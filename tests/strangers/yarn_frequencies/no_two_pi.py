# wrong: turns without 2 pi, and odd widths are taken
# expect: angles-for-turns, odd-width-accepted
import math

import torch


def yarn_frequencies(head_dim, base, factor, original_length, slow=1, fast=32):
    theta = base ** (-torch.arange(0, head_dim, 2).float() / head_dim)
    r = original_length * theta
    gamma = ((r - slow) / (fast - slow)).clamp(0, 1)
    return gamma * theta + (1 - gamma) * theta / factor
