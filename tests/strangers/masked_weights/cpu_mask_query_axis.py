# wrong: the mask is made on the CPU; softmax over the queries
# expect: mask-on-the-cpu, softmax-over-queries
# also: key-rank-not-checked
import numpy as np
import torch


def masked_weights(query, key):
    B, T, _ = query.size()
    keep = torch.from_numpy(np.tril(np.ones((T, T)))).bool()
    s = torch.matmul(query, key.transpose(1, 2))
    s = s.masked_fill(~keep, -float("inf"))
    return torch.softmax(s, dim=1)
