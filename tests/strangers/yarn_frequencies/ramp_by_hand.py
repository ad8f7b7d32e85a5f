# wrong: a step in place of the ramp: half for all between
# expect: halfway-between
import math

import torch


def yarn_frequencies(head_dim, base, factor, original_length, slow=1, fast=32):
    if head_dim % 2:
        raise ValueError("odd")
    out = []
    for i in range(0, head_dim, 2):
        theta = base ** (-i / head_dim)
        turns = original_length * theta / 2 / math.pi
        if turns >= fast:
            out.append(theta)
        elif turns <= slow:
            out.append(theta / factor)
        else:
            out.append((theta + theta / factor) / 2)
    return torch.tensor(out)
