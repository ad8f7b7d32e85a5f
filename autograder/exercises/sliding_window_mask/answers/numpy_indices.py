import numpy as np
import torch


class WindowError(ValueError):
    pass


def sliding_window_mask(t, window):
    if window < 1:
        raise WindowError(f"a window needs at least 1 token, this has {window}")
    query, key = np.indices((t, t))
    return torch.from_numpy(np.logical_and(key <= query, key > query - window))
