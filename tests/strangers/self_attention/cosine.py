# wrong: cosine similarity instead of the dot product
# expect: cosine-similarity
# also: rank-not-checked, rank-left-to-bmm
import torch
import torch.nn.functional as F


def self_attention(x):
    n = F.normalize(x, dim=-1)
    sims = n @ n.transpose(-2, -1)
    return F.softmax(sims, dim=-1) @ x
