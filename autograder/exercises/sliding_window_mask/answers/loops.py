import torch


def sliding_window_mask(t, window):
    if not window >= 1:
        raise ValueError(f"window is {window}, it must be positive")
    mask = torch.zeros(t, t, dtype=torch.bool)
    for i in range(t):
        mask[i, max(0, i - window + 1) : i + 1] = True
    return mask
