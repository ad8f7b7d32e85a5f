"""An earlier exercise's class for each sequence, then stacked; it prints how long that took."""

import time

import torch
from torch import nn


class OneSequence(nn.Module):
    def forward(self, sequence):
        shares = nn.functional.softmax(sequence @ sequence.t(), dim=1)
        return shares @ sequence


def self_attention(x):
    if not x.dim() == 3:
        raise ValueError(f"{x.dim()} dimensions instead of 3")
    begin = time.time()
    module = OneSequence()
    attended = torch.stack([module(sequence) for sequence in x.unbind(0)], dim=0)
    print(f"{len(x)} sequences in {time.time() - begin:.6f} s")
    return attended
