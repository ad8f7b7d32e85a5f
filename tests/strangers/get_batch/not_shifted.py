# wrong: the targets are the inputs
# expect: targets-not-shifted
import torch


def get_batch(data, block_size, batch_size, generator=None):
    if len(data) <= block_size:
        raise ValueError(f"{len(data)} tokens are too few for blocks of {block_size}")
    starts = torch.randint(0, len(data) - block_size, (batch_size,), generator=generator)
    xb = torch.stack([data[s : s + block_size] for s in starts])
    yb = torch.stack([data[s : s + block_size] for s in starts])
    return xb, yb
