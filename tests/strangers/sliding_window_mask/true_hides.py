# wrong: True means hidden here
# expect: inverted
import torch


def sliding_window_mask(t, window):
    if window < 1:
        raise ValueError(f"a window of {window}")
    i = torch.arange(t).unsqueeze(1)
    j = torch.arange(t).unsqueeze(0)
    return (j > i) | (i - j >= window)
