"""Rows of a strict lower triangle, looked up by length."""

import torch


def padding_mask(lengths, max_len=None):
    if lengths.dim() != 1:
        raise ValueError(f"expected (b,), got {tuple(lengths.shape)}")
    index = lengths.long()
    if int(index.min()) < 0:
        raise ValueError("lengths must not be negative")
    width = int(index.max()) if max_len is None else int(max_len)
    if int(index.max()) > width:
        raise ValueError(f"a length of {int(index.max())}, but at most {width}")
    table = torch.ones(width + 1, width, dtype=torch.bool, device=lengths.device).tril(-1)
    return table[index]
