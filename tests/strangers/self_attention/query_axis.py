# wrong: softmax over the queries
# expect: softmax-over-the-wrong-tokens
# also: rank-not-checked
import torch
import torch.nn.functional as F


def self_attention(x):
    raw_weights = torch.bmm(x, x.transpose(1, 2))
    weights = F.softmax(raw_weights, dim=1)
    y = torch.bmm(weights, x)
    return y
