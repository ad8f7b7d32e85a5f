# wrong: sums x_i instead of x_j, as the prose of the original has it, so the output is the input
# expect: own-vector
# also: rank-not-checked, rank-left-to-bmm
import torch


def self_attention(x):
    w = torch.softmax(x @ x.transpose(1, 2), dim=2)
    return w.sum(dim=2, keepdim=True) * x
