import torch

x = torch.zeros(1, 2**19, dtype=torch.int64)
print("a batch of", x.numel())

def get_batch(data, block_size, batch_size, generator=None):
    return x, x
