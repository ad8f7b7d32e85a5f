# wrong: multiplied by the root instead of divided; softmax over the queries
# expect: multiplied-by-the-root, softmax-over-the-wrong-tokens
import torch


def scaled_self_attention(x):
    b, t, k = x.size()
    W = torch.matmul(x, x.transpose(1, 2)) * (k ** (1 / 2))
    W = torch.nn.functional.softmax(W, dim=1)
    return torch.matmul(W, x)
