# wrong: ones and zeros instead of booleans; the device is not used
# expect: numbers-not-boolean, device-ignored
import torch


def causal_mask(t, device=None):
    mask = torch.zeros((t, t))
    for i in range(t):
        for j in range(i + 1):
            mask[i][j] = 1
    return mask
