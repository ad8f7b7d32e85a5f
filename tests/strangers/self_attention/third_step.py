# wrong: the output is multiplied by the inputs once more
# expect: multiplied-by-the-input
# also: rank-not-checked
import torch


def self_attention(x):
    similarity = torch.matmul(x, torch.transpose(x, 1, 2))
    probs = torch.nn.Softmax(dim=2)(similarity)
    context = torch.matmul(probs, x)
    return context * x
