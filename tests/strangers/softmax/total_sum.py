# wrong: divided by the sum of all entries instead of the sum along dim
# expect: sum-over-everything
import torch


def softmax(scores, dim=-1):
    maximum = torch.amax(scores, dim=dim, keepdim=True)
    exp_scores = torch.exp(scores - maximum)
    return exp_scores / torch.sum(exp_scores)
