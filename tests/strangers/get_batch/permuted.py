# wrong: starts are drawn without replacement; targets are shifted by two
# expect: without-replacement, shifted-twice
# also: fact-unequal-parts
import torch


def get_batch(data, block_size, batch_size, generator=None):
    n = len(data) - block_size
    if n < 1:
        raise ValueError("the text has %d tokens, blocks need %d" % (len(data), block_size + 1))
    order = torch.randperm(n, generator=generator)[:batch_size]
    x = torch.stack([data[i : i + block_size] for i in order.tolist()])
    y = torch.stack([data[i + 2 : i + 2 + block_size] for i in order.tolist()])
    return x, y
