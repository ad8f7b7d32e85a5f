import torch

def attention(*args, **kwargs):
    return [torch.empty(2**27) for _ in range(1000)]
