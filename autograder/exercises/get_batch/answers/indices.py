"""A table of indices: starts down, steps across."""

import torch


def get_batch(data, block_size, batch_size, generator=None):
    n_starts = data.numel() - block_size
    if n_starts < 1:
        raise ValueError(f"need at least {block_size + 1} tokens, got {data.numel()}")
    starts = torch.randint(0, n_starts, (batch_size, 1), generator=generator)
    index = starts + torch.arange(block_size)
    return data[index], data[index + 1]
