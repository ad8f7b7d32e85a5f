# wrong: x is scaled before everything, so scores are divided by k and the values are scaled as well
# expect: tokens-divided-by-the-root
# also: scaled-input-averaged, scale-without-root, rank-not-checked
import torch


def scaled_self_attention(x):
    x = x / (x.shape[-1] ** 0.5)
    w = (x @ x.mT).softmax(dim=-1)
    return w @ x
