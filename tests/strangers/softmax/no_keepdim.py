# wrong: sum without keepdim, so shapes don't fit or broadcast against the wrong dimension
# expect: keepdim-forgotten
import torch


def softmax(scores, dim=-1):
    m, _ = torch.max(scores, dim=dim, keepdim=True)
    ex = torch.exp(scores - m)
    return ex / ex.sum(dim=dim)
