import torch


def sliding_window_mask(t, window):
    if window < 1:
        raise ValueError(f"window must be at least 1, got {window}")
    i = torch.arange(t).unsqueeze(1)
    j = torch.arange(t).unsqueeze(0)
    return (j <= i) & (i - j < window)
