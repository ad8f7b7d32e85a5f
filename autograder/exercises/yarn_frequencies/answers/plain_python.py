import math

import torch


def yarn_frequencies(head_dim, base, factor, original_length, slow=1, fast=32):
    """Pair by pair, with numbers of Python."""
    if head_dim % 2 == 1:
        raise ValueError(f"{head_dim} is odd")
    found = []
    for pair in range(head_dim // 2):
        theta = base ** (-2 * pair / head_dim)
        wavelength = 2 * math.pi / theta
        turns = original_length / wavelength
        if turns < slow:
            found.append(theta / factor)
        elif turns > fast:
            found.append(theta)
        else:
            gamma = (turns - slow) / (fast - slow)
            found.append((1 - gamma) * theta / factor + gamma * theta)
    return torch.tensor(found)
