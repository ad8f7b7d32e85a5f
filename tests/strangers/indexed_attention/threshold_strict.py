# wrong: keys above the k-th largest are taken, without it
# expect: one-too-few
import torch


def indexed_attention(query, key, value, index_scores, top_k):
    if top_k < 1:
        raise ValueError(f"top_k must be at least 1, not {top_k}")
    b, h, t, d = query.shape
    causal = torch.tril(torch.ones(t, t, dtype=torch.bool, device=query.device))
    idx = index_scores.masked_fill(~causal, float("-inf"))
    k = min(top_k, t)
    _, best = torch.topk(idx, k, dim=-1)
    kth = idx.gather(-1, best[..., -1:])
    mask = idx > kth
    mask = mask & causal
    scores = torch.matmul(query, key.transpose(-1, -2)) / (d**0.5)
    scores = scores.masked_fill(~mask[:, None, :, :], float("-inf"))
    weights = torch.nan_to_num(torch.softmax(scores, dim=-1))
    return torch.matmul(weights, value), weights
