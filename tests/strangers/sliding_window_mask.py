# %% both_sides: looks to both sides, as Longformer's encoder does; a window of 0 is not refused
# expect: both-directions, window-not-checked
import torch


def sliding_window_mask(t, window):
    places = torch.arange(t)
    distance = (places[:, None] - places[None, :]).abs()
    return distance < window

# %% mistral: Mistral's count: the window and the token itself, one more; numbers come out and not bools
# expect: one-too-many, numbers-not-boolean
import torch


def sliding_window_mask(t, window):
    if window < 1:
        raise ValueError("window must be at least 1")
    tensor = torch.full((t, t), fill_value=1.0)
    mask = torch.tril(tensor, diagonal=0)
    # make the mask banded to account for sliding window
    mask = torch.triu(mask, diagonal=-window)
    return mask

# %% true_hides: True means hidden here
# expect: inverted
import torch


def sliding_window_mask(t, window):
    if window < 1:
        raise ValueError(f"a window of {window}")
    i = torch.arange(t).unsqueeze(1)
    j = torch.arange(t).unsqueeze(0)
    return (j > i) | (i - j >= window)
