"""Lists of Python's, made a tensor at the end."""

import torch


def padding_mask(lengths, max_len=None):
    if lengths.dim() != 1:
        raise ValueError("one dimension, please")
    numbers = lengths.tolist()
    if min(numbers) < 0:
        raise ValueError("a length is negative")
    max_len = max(numbers) if max_len is None else max_len
    if max(numbers) > max_len:
        raise ValueError(f"{max(numbers)} > {max_len}")
    rows = [[1] * n + [0] * (max_len - n) for n in numbers]
    return torch.tensor(rows, dtype=torch.bool, device=lengths.device).view(len(numbers), max_len)
