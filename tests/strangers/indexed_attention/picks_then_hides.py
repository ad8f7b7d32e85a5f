# wrong: picks among all keys, and hides later ones afterwards; rows that see nothing are 0
# expect: later-keys-take-places
import torch


def indexed_attention(query, key, value, index_scores, top_k):
    if top_k < 1:
        raise ValueError(f"top_k must be at least 1, not {top_k}")
    b, h, t, d = query.shape
    causal = torch.tril(torch.ones(t, t, dtype=torch.bool, device=query.device))
    idx = index_scores
    k = min(top_k, t)
    _, best = torch.topk(idx, k, dim=-1)
    mask = torch.zeros(b, t, t, dtype=torch.bool, device=query.device)
    mask.scatter_(2, best, True)
    mask = mask & causal
    scores = torch.matmul(query, key.transpose(-1, -2)) / (d**0.5)
    scores = scores.masked_fill(~mask[:, None, :, :], float("-inf"))
    weights = torch.nan_to_num(torch.softmax(scores, dim=-1))
    return torch.matmul(weights, value), weights
