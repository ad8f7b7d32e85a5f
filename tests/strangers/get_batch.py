# %% last_start_lost: the last start is never drawn; no ValueError for a text that is too short
# expect: last-start-missing, too-short-not-refused
# also: last-start-missing-crash
import torch


def get_batch(data, block_size, batch_size, generator=None):
    high = len(data) - block_size - 1
    ix = torch.randint(high, (batch_size,), generator=generator)
    offsets = ix.unsqueeze(1) + torch.arange(block_size).unsqueeze(0)
    return data[offsets], data[offsets + 1]

# %% no_generator: the generator is not used; a short text is not refused in words of its own
# expect: generator-ignored, too-short-not-refused
import torch


def get_batch(data, block_size, batch_size, generator=None):
    # generate a small batch of data of inputs x and targets y
    ix = torch.randint(len(data) - block_size, (batch_size,))
    x = torch.stack([data[i : i + block_size] for i in ix])
    y = torch.stack([data[i + 1 : i + block_size + 1] for i in ix])
    return x, y

# %% not_shifted: the targets are the inputs
# expect: targets-not-shifted
import torch


def get_batch(data, block_size, batch_size, generator=None):
    if len(data) <= block_size:
        raise ValueError(f"{len(data)} tokens are too few for blocks of {block_size}")
    starts = torch.randint(0, len(data) - block_size, (batch_size,), generator=generator)
    xb = torch.stack([data[s : s + block_size] for s in starts])
    yb = torch.stack([data[s : s + block_size] for s in starts])
    return xb, yb

# %% numpy_random: drawn with numpy, so the generator has no effect; runs past the end
# expect: chance-of-python, targets-past-the-end, too-short-not-refused
# also: generator-ignored, fact-unequal-parts
import numpy as np
import torch


def get_batch(data, block_size, batch_size, generator=None):
    X, Y = [], []
    for _ in range(batch_size):
        i = np.random.randint(0, len(data) - block_size + 1)
        X.append(data[i : i + block_size])
        Y.append(data[i + 1 : i + 1 + block_size])
    return torch.stack(X), torch.stack(Y)

# %% one_start_for_all: one start, and the blocks of the batch follow one another; the targets are one token each
# expect: neighbouring-starts, last-target-alone, too-short-not-refused
import torch


def get_batch(data, block_size, batch_size, generator=None):
    start = torch.randint(0, len(data) - block_size - batch_size, (1,), generator=generator).item()
    x = torch.stack([data[start + i : start + i + block_size] for i in range(batch_size)])
    y = torch.stack([data[start + i + block_size] for i in range(batch_size)])
    return x, y

# %% permuted: starts are drawn without replacement; targets are shifted by two
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
