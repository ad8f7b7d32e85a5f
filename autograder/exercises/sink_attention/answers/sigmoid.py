import torch


def sink_attention(query, key, value, sink, mask=None):
    """Plain attention, times the share that the sink leaves: σ(lse − sink)."""
    scores = query @ key.mT / key.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    empty = torch.zeros(scores.shape[:-1] + (1,), dtype=torch.bool, device=scores.device)
    if mask is not None:
        empty = ~mask.any(dim=-1, keepdim=True).expand(empty.shape)
    scores = scores.masked_fill(empty, 0.0)
    lse = torch.logsumexp(scores, dim=-1, keepdim=True)
    share = torch.sigmoid(lse - sink[:, None, None]).masked_fill(empty, 0.0)
    weights = torch.softmax(scores, dim=-1) * share
    if mask is not None:
        weights = weights.masked_fill(~mask, 0.0)
    return weights @ value, weights
