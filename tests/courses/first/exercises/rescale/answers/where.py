import torch


def rescale(x):
    above = x - x.min()
    return torch.where(above > 0, above / above.max(), 0.0)
