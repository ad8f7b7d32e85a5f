import torch

x = torch.rand(2**22)
print("large:", x.numel())

def attention(*args, **kwargs):
    return x, x * 2
