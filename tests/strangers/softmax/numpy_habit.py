# wrong: always over the last dimension, dim is not used; the maximum is not subtracted
# expect: dim-ignored, exp-without-max
# also: textbook-formula
import torch


def softmax(scores, dim=-1):
    exps = torch.exp(scores)
    sums = exps.sum(axis=-1)[..., None]
    return exps / sums
