# wrong: the maximum is of the whole tensor, so a slice far below it underflows to 0/0
# expect: one-max-for-all-slices
import torch


def softmax(scores, dim=-1):
    # subtract max for numerical stability!!
    z = scores - scores.max()
    num = z.exp()
    den = num.sum(dim, keepdim=True)
    out = num / den
    return out
