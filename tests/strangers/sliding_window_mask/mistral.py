# wrong: Mistral's count: the window and the token itself, one more; numbers come out and not bools
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
