# wrong: looks to both sides, as Longformer's encoder does; a window of 0 is not refused
# expect: both-directions, window-not-checked
import torch


def sliding_window_mask(t, window):
    places = torch.arange(t)
    distance = (places[:, None] - places[None, :]).abs()
    return distance < window
