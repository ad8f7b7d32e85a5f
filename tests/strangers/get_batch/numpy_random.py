# wrong: drawn with numpy, so the generator has no effect; runs past the end
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
