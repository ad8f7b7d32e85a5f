"""One row after the other, written into tensors made before; numbers between 0 and 1, scaled and cut."""

import torch


def get_batch(data, block_size, batch_size, generator=None):
    many = len(data) - block_size
    if many <= 0:
        raise ValueError(f"{len(data)} tokens are too few for blocks of {block_size}")
    x = torch.empty(batch_size, block_size, dtype=data.dtype)
    y = torch.empty_like(x)
    for row in range(batch_size):
        start = int(torch.rand((), generator=generator, dtype=torch.float64) * many)
        x[row] = data[start : start + block_size]
        y[row] = data[start + 1 : start + 1 + block_size]
    return [x, y]
