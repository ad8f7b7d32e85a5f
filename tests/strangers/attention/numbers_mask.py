# wrong: no scale; the mask is added as a number
# expect: no-scale, ?
# also: rank-not-checked
import torch


def attention(query, key, value, mask=None):
    scores = torch.matmul(query, key.transpose(-2, -1))
    if mask is not None:
        scores = scores + mask
    weights = torch.softmax(scores, dim=-1)
    return torch.matmul(weights, value), weights
