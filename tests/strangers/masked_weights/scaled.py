# wrong: scaled, though this table is without a scale
# expect: scaled
# also: key-rank-not-checked
import torch
import torch.nn.functional as F


def masked_weights(query, key):
    B, T, C = query.shape
    wei = query @ key.transpose(-2, -1) * C**-0.5
    tril = torch.tril(torch.ones(T, T, device=query.device))
    wei = wei.masked_fill(tril == 0, float("-inf"))
    return F.softmax(wei, dim=-1)
