"""A class that remembers the text's two shifted halves; rows by narrow, chance as one number for all of a row."""

import torch


class Text:
    def __init__(self, data):
        self.inputs, self.targets = data[:-1], data[1:]

    def blocks(self, starts, size):
        for start in starts:
            yield self.inputs.narrow(0, start, size), self.targets.narrow(0, start, size)


def get_batch(data, block_size, batch_size, generator=None):
    starts = data.shape[0] - block_size
    if not starts > 0:
        message = f"The text has {data.shape[0]} tokens, and a block of {block_size} needs {block_size + 1}."
        raise ValueError(message)
    drawn = torch.floor(torch.rand(batch_size, generator=generator, dtype=torch.float64) * starts).to(torch.int64)
    x, y = zip(*Text(data).blocks(drawn.tolist(), block_size), strict=True)
    return torch.vstack(x), torch.vstack(y)
