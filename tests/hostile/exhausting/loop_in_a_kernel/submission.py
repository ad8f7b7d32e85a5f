import torch

def attention(*args, **kwargs):
    x = torch.ones(9000, 9000)
    return x @ x @ x @ x, x
