# wrong: softmax over the batch, and scaled although that comes later
# expect: softmax-over-dim-0, scaled-already
import math

import torch
import torch.nn.functional as F


def self_attention(x):
    b, t, k = x.shape
    dot = torch.einsum("bik,bjk->bij", x, x)
    dot = F.softmax(dot / math.sqrt(k), dim=0)
    return torch.einsum("bij,bjk->bik", dot, x)
