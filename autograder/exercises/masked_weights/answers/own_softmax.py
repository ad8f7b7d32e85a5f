"""A finite fill that suits the dtype, and a softmax of one's own."""

import torch


def masked_weights(query, key):
    if (query.dim(), key.dim()) != (3, 3):
        raise ValueError(f"{tuple(query.shape)}, {tuple(key.shape)}")
    scores = torch.bmm(query, key.permute(0, 2, 1))
    place = torch.arange(scores.shape[1], device=scores.device)
    future = place[None, :] > place[:, None]
    scores = torch.where(future, torch.finfo(scores.dtype).min, scores)
    powers = torch.exp(scores - scores.amax(-1, keepdim=True)).masked_fill(future, 0.0)
    return powers / powers.sum(-1, keepdim=True)
