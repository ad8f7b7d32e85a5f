# wrong: the weights are multiplied by the mask after the softmax
# expect: hidden-after-softmax
import torch


def indexed_attention(query, key, value, index_scores, top_k):
    if top_k < 1:
        raise ValueError(f"top_k must be at least 1, not {top_k}")
    b, h, t, d = query.shape
    causal = torch.tril(torch.ones(t, t, dtype=torch.bool, device=query.device))
    idx = index_scores.masked_fill(~causal, float("-inf"))
    k = min(top_k, t)
    _, best = torch.topk(idx, k, dim=-1)
    mask = torch.zeros(b, t, t, dtype=torch.bool, device=query.device)
    mask.scatter_(2, best, True)
    mask = mask & causal
    scores = torch.matmul(query, key.transpose(-1, -2)) / (d**0.5)
    scores = scores.masked_fill(~causal, float("-inf"))
    weights = torch.softmax(scores, dim=-1) * mask[:, None]
    return torch.matmul(weights, value), weights
