# wrong: one start, and the blocks of the batch follow one another; the targets are one token each
# expect: neighbouring-starts, last-target-alone, too-short-not-refused
import torch


def get_batch(data, block_size, batch_size, generator=None):
    start = torch.randint(0, len(data) - block_size - batch_size, (1,), generator=generator).item()
    x = torch.stack([data[start + i : start + i + block_size] for i in range(batch_size)])
    y = torch.stack([data[start + i + block_size] for i in range(batch_size)])
    return x, y
