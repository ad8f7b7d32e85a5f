# wrong: the mask is multiplied with the weights after the softmax; the rows no longer sum to 1
# expect: mask-after-softmax
# also: rank-not-checked
import torch
import torch.nn.functional as F


def attention(query, key, value, mask=None):
    dk = key.shape[-1]
    weights = F.softmax(query @ key.transpose(-2, -1) / dk**0.5, dim=-1)
    if mask is not None:
        weights = weights * mask
    output = weights @ value
    return output, weights
