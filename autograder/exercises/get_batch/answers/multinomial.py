"""Starts by torch.multinomial with equal weights, tokens by gather."""

import torch


def get_batch(data, block_size, batch_size, generator=None):
    n = data.size(0)
    if n - block_size < 1:
        raise ValueError(f"block_size {block_size} >= {n} tokens")
    weights = torch.ones(n - block_size)
    starts = weights.multinomial(batch_size, replacement=True, generator=generator)
    index = torch.stack([starts + i for i in range(block_size + 1)], dim=1)
    rows = data.expand(batch_size, n).gather(1, index)
    return rows[:, :block_size].contiguous(), rows[:, 1:].contiguous()
