# wrong: returns the weights instead of the output
# expect: weights-returned
# also: rank-not-checked, rank-left-to-bmm
import torch


def self_attention(x):
    scores = torch.bmm(x, x.permute(0, 2, 1))
    weights = scores.softmax(-1)
    out = torch.bmm(weights, x)
    return weights
