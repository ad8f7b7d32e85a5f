import torch

def attention(*args, **kwargs):
    return [torch.ones(2**27) for _ in range(1000)]
