# wrong: tril of the scores leaves zeros for the future instead of -inf
# expect: mask-fills-with-zero
# also: key-rank-not-checked
import torch


def masked_weights(query, key):
    b, t, d = query.shape
    wei = torch.tril(query @ key.transpose(1, 2))
    wei = wei.softmax(dim=-1)
    return wei
