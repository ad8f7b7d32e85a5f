"""Rows of True, padded by torch."""

import torch
import torch.nn.functional as F


def padding_mask(lengths, max_len=None):
    if lengths.dim() != 1:
        raise ValueError("lengths should be (b,)")
    low, high = lengths.aminmax()
    if low < 0:
        raise ValueError(f"length {low.item()} is below 0")
    if max_len is None:
        max_len = int(high)
    elif high > max_len:
        raise ValueError(f"length {high.item()} is above {max_len}")
    rows = [torch.ones(int(n), dtype=torch.bool, device=lengths.device) for n in lengths]
    return torch.stack([F.pad(row, (0, max_len - len(row)), value=False) for row in rows])
