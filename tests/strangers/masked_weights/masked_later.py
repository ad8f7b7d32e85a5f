# wrong: the mask comes after the softmax, the rows are not normalised again
# expect: mask-after-softmax
# also: rank-not-checked
import torch
import torch.nn.functional as F


def masked_weights(query, key):
    scores = torch.bmm(query, key.permute(0, 2, 1))
    weights = F.softmax(scores, dim=-1)
    return torch.tril(weights)
