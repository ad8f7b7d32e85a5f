# wrong: the mask None is negated, which raises; NaN in empty rows
# expect: none-inverted, nan-in-empty-rows
# also: rank-not-checked
import torch


def attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / key.size(-1) ** 0.5
    scores = scores.masked_fill(~mask, -float("inf"))
    w = scores.softmax(-1)
    return w @ value, w
