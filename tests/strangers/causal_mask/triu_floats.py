# wrong: upper triangle, and floats instead of booleans
# expect: inverted, numbers-not-boolean
import torch


def causal_mask(t, device=None):
    return torch.triu(torch.ones(t, t), diagonal=1).to(device)
