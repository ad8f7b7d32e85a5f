import numpy as np
import torch


def yarn_frequencies(head_dim, base, factor, original_length, slow=1, fast=32):
    if head_dim % 2:
        raise ValueError("pairs")
    theta = np.exp(-np.log(base) * np.arange(head_dim // 2) * 2 / head_dim)
    kept = np.interp(original_length * theta / (2 * np.pi), [slow, fast], [0.0, 1.0])
    return torch.from_numpy(theta * (kept + (1 - kept) / factor)).to(torch.float32)
