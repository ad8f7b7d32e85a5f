"""All windows of block_size + 1 tokens as a view, rows of it picked."""

import torch


def get_batch(data, block_size, batch_size, generator=None):
    if data.shape[0] < block_size + 1:
        raise ValueError(f"block_size={block_size} does not fit into {data.shape[0]} tokens")
    windows = data.unfold(0, block_size + 1, 1)
    picked = windows[torch.randint(windows.shape[0], (batch_size,), generator=generator)]
    return picked[:, :-1], picked[:, 1:]
