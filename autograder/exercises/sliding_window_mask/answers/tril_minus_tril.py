import torch


def sliding_window_mask(t, window):
    if window < 1:
        raise ValueError("window < 1")
    everything = torch.ones((t, t))
    return (everything.tril() - everything.tril(-window)) == 1
