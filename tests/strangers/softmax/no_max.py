# wrong: the maximum is not subtracted, so large scores overflow
# expect: textbook-formula
# also: exp-without-max
import torch


def softmax(scores, dim=-1):
    e = torch.exp(scores)
    return e / torch.sum(e, dim=dim, keepdim=True)
