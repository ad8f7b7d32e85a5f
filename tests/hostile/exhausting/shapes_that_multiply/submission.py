import itertools
import torch

shapes = itertools.cycle([(2**20, 1), (1, 2**20)])
print("ready")

def attention(*args, **kwargs):
    return torch.ones(next(shapes)), torch.ones(next(shapes))
