# wrong: only three dimensions work (bmm, transpose(1, 2)); the mask must be of the scores' shape
# expect: only-three-dimensions
# also: fixed-dimensions, rank-not-checked, fact-no-such-dimension, fact-fixed-rank
import torch
import torch.nn.functional as F


def attention(query, key, value, mask=None):
    scores = torch.bmm(query, key.transpose(1, 2)) / query.size(2) ** 0.5
    if mask is not None:
        scores = scores.masked_fill(mask == False, float("-inf"))
    weights = F.softmax(scores, dim=2)
    weights = weights.masked_fill(torch.isnan(weights), 0.0)
    return torch.bmm(weights, value), weights
