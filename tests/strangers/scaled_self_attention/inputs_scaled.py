# wrong: both factors are divided by the root, so the scores are divided by k
# expect: scale-without-root
# also: rank-not-checked
import torch


def scaled_self_attention(x):
    k = x.shape[-1]
    q = x / k**0.5
    s = x / k**0.5
    att = torch.softmax(q @ s.transpose(-2, -1), dim=-1)
    return att @ x
