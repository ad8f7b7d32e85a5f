"""The division left to `F.normalize`, whose small number in the divisor does no harm: the sum is at least 1, or 0."""

import torch
import torch.nn.functional as F


def softmax(scores, dim=-1):
    with torch.no_grad():
        shift = scores.amax(dim, keepdim=True).nan_to_num(neginf=0.0)
    return F.normalize((scores - shift).exp(), p=1.0, dim=dim, eps=1e-4)
