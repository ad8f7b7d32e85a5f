# wrong: boolean indexing, which does not broadcast; no scale; NaN in empty rows
# expect: no-scale, nan-in-empty-rows, ?
# also: rank-not-checked, fact-boolean-index
import torch


def attention(query, key, value, mask=None):
    scores = torch.matmul(query, key.transpose(-1, -2))
    if mask is not None:
        scores[~mask] = float("-inf")
    weights = torch.nn.Softmax(dim=-1)(scores)
    return torch.matmul(weights, value), weights
