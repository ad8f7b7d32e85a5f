# wrong: the maximum is subtracted in place, so the caller's scores change (and leaves that need a gradient raise)
# expect: changed-by-minus-equals
# also: scores-changed-in-place
import torch


def softmax(scores, dim=-1):
    scores -= scores.max(dim=dim, keepdim=True)[0]
    p = torch.exp(scores)
    p = p / p.sum(dim=dim, keepdim=True)
    return p
