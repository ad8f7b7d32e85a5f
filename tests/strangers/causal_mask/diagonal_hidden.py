# wrong: a token does not see itself
# expect: diagonal-missing
import torch


def causal_mask(t, device=None):
    idx = torch.arange(t, device=device)
    return idx[:, None] > idx[None, :]
