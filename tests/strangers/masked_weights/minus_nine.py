# wrong: the future is filled with -9, a number that softmax does not make 0
# expect: mask-fills-with-small-number
# also: rank-not-checked
import torch


def masked_weights(query, key):
    T = query.shape[1]
    S = torch.einsum("bid,bjd->bij", query, key)
    future = torch.ones(T, T, device=S.device).triu(1).bool()
    S[:, future] = -9.0
    return torch.softmax(S, dim=2)
