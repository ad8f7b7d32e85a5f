"""Compiled, printed and timed."""

import time

import torch


@torch.compile
def compared(lengths, width):
    return torch.lt(torch.arange(width, device=lengths.device).unsqueeze(0), lengths.unsqueeze(-1))


def padding_mask(lengths, max_len=None):
    start = time.monotonic()
    if lengths.dim() != 1:
        raise ValueError("lengths: one dimension")
    longest = int(torch.max(lengths))
    if bool((lengths.long() < 0).any()):
        raise ValueError(f"below 0: {lengths[lengths < 0]}")
    if max_len is not None and longest > max_len:
        raise ValueError(f"max_len={max_len} is below {longest}")
    mask = compared(lengths, longest if max_len is None else max_len)
    print(f"{mask.sum().item()} real tokens, {time.monotonic() - start:.2g} s")
    return mask
