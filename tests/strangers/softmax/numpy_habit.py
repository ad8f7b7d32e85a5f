# wrong: always over the last dimension, dim is not used; the maximum is not subtracted
# expect: textbook-formula, dim-ignored
# also: exp-without-max
import torch


def softmax(scores, dim=-1):
    exps = torch.exp(scores)
    sums = exps.sum(axis=-1)[..., None]
    return exps / sums
