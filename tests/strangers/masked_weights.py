# %% cpu_mask_query_axis: the mask is made on the CPU; softmax over the queries
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

# %% masked_later: the mask comes after the softmax, the rows are not normalised again
# expect: mask-after-softmax
# also: rank-not-checked
import torch
import torch.nn.functional as F


def masked_weights(query, key):
    scores = torch.bmm(query, key.permute(0, 2, 1))
    weights = F.softmax(scores, dim=-1)
    return torch.tril(weights)

# %% minus_nine: the future is filled with -9, a number that softmax does not make 0
# expect: mask-fills-with-small-number
# also: rank-not-checked
import torch


def masked_weights(query, key):
    T = query.shape[1]
    S = torch.einsum("bid,bjd->bij", query, key)
    future = torch.ones(T, T, device=S.device).triu(1).bool()
    S[:, future] = -9.0
    return torch.softmax(S, dim=2)

# %% scaled: scaled, though this table is without a scale
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

# %% tril_scores: tril of the scores leaves zeros for the future instead of -inf
# expect: mask-fills-with-zero
# also: key-rank-not-checked
import torch


def masked_weights(query, key):
    b, t, d = query.shape
    wei = torch.tril(query @ key.transpose(1, 2))
    wei = wei.softmax(dim=-1)
    return wei
