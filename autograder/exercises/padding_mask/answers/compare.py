"""A row of places against a column of lengths."""

import torch


def padding_mask(lengths, max_len=None):
    if lengths.ndim != 1:
        raise ValueError("lengths must be one-dimensional")
    if (lengths < 0).any():
        raise ValueError(f"negative length in {lengths.tolist()}")
    if max_len is None:
        max_len = lengths.max().item()
    if (lengths > max_len).any():
        raise ValueError(f"longest sequence is {lengths.max().item()}, but max_len is {max_len}")
    return torch.arange(max_len, device=lengths.device).expand(len(lengths), max_len) < lengths.unsqueeze(1)
