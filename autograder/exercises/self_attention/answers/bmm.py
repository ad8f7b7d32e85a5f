"""With `torch.bmm`, as notebook 000 has it."""

import torch
import torch.nn.functional as F


def self_attention(x):
    if x.dim() != 3:
        raise ValueError(f"expected (b, t, d), got {tuple(x.shape)}")
    raw_weights = torch.bmm(x, x.transpose(1, 2))
    weights = F.softmax(raw_weights, dim=2)
    return torch.bmm(weights, x)
