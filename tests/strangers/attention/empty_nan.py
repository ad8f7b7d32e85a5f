# wrong: a query with nothing to attend to gives NaN
# expect: nan-in-empty-rows
# also: rank-not-checked
import torch
import torch.nn.functional as F


def attention(query, key, value, mask=None):
    d = key.shape[-1]
    s = (query @ key.mT) * d**-0.5
    if mask is not None:
        s = s.masked_fill(~mask, float("-inf"))
    w = F.softmax(s, dim=-1)
    return w @ value, w
