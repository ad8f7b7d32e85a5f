import torch


def rescale(x):
    smallest, largest = x.aminmax()
    if smallest == largest:
        return torch.zeros_like(x)
    return (x - smallest) / (largest - smallest)
