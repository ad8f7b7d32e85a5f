# wrong: the scale is the root of the number of tokens
# expect: scale-by-number-of-tokens
# also: rank-not-checked
import math

import torch


def scaled_self_attention(x):
    scores = torch.bmm(x, x.transpose(1, 2))
    scores = scores / math.sqrt(scores.size(-1))
    return torch.bmm(torch.softmax(scores, dim=2), x)
