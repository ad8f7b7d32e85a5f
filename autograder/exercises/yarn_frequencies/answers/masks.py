import math

import torch


def yarn_frequencies(head_dim, base, factor, original_length, slow=1, fast=32):
    """Three bands by `torch.where`, in float32."""
    if head_dim % 2 != 0:
        raise ValueError(f"expected an even head_dim, got {head_dim}")
    kept = 1.0 / base ** (torch.arange(0, head_dim, 2).float() / head_dim)
    divided = kept / factor
    turns = original_length / (2 * math.pi / kept)
    ramp = (turns - slow) / (fast - slow)
    between = torch.where(turns >= fast, kept, divided + ramp * (kept - divided))
    return torch.where(turns <= slow, divided, between)
