# wrong: features attend to features: X^T X instead of X X^T
# expect: features-compared
# also: rank-not-checked, rank-left-to-bmm
import torch


def self_attention(x):
    gram = torch.bmm(x.transpose(1, 2), x)
    w = torch.softmax(gram, dim=-1)
    return torch.bmm(x, w)
