import torch


def sliding_window_mask(t, window):
    """One diagonal after another."""
    if window < 1:
        raise ValueError(f"{window = }")
    mask = torch.eye(t, dtype=torch.bool)
    for back in range(1, min(window, t)):
        mask |= torch.diag(torch.ones(t - back, dtype=torch.bool), -back)
    return mask
