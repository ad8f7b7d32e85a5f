# %% diagonal_hidden: a token does not see itself
# expect: diagonal-missing
import torch


def causal_mask(t, device=None):
    idx = torch.arange(t, device=device)
    return idx[:, None] > idx[None, :]

# %% torch_polarity: True where it is forbidden to look, as nn.MultiheadAttention has it
# expect: inverted
import torch


def causal_mask(t, device=None):
    subsequent_mask = torch.triu(torch.ones((t, t), device=device), diagonal=1).type(torch.bool)
    return subsequent_mask

# %% tril_ints: ones and zeros instead of booleans; the device is not used
# expect: numbers-not-boolean, device-ignored
import torch


def causal_mask(t, device=None):
    mask = torch.zeros((t, t))
    for i in range(t):
        for j in range(i + 1):
            mask[i][j] = 1
    return mask

# %% triu_floats: upper triangle, and floats instead of booleans
# expect: inverted, numbers-not-boolean
import torch


def causal_mask(t, device=None):
    return torch.triu(torch.ones(t, t), diagonal=1).to(device)
