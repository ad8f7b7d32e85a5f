# wrong: the mask is not used; the scale is the root of the number of keys
# expect: mask-ignored, scale-by-number-of-keys
# also: rank-not-checked
import torch


def attention(query, key, value, mask=None):
    n = key.shape[-2]
    product = torch.matmul(query, key.transpose(-2, -1))
    weights = torch.softmax(product / n**0.5, dim=-1)
    return torch.matmul(weights, value), weights
