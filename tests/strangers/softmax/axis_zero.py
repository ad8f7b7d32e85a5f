# wrong: always over dim 0
# expect: ?
# also: default-is-first-dimension
import torch


def softmax(scores, dim=-1):
    scores = scores - torch.max(scores, dim=0, keepdim=True).values
    scores = torch.exp(scores)
    total = torch.sum(scores, dim=0, keepdim=True)
    return scores / total
