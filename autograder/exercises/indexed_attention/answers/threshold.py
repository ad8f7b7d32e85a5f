import math

import torch


def indexed_attention(query, key, value, index_scores, top_k):
    """The k-th largest visible index score of each row is the limit."""
    if top_k <= 0:
        raise ValueError(f"expected top_k >= 1, got {top_k}")
    n = query.size(-2)
    future = torch.full((n, n), -math.inf, device=query.device).triu(1)
    index = index_scores.to(torch.float64) + future
    limit = index.sort(dim=-1, descending=True).values[..., min(top_k, n) - 1, None]
    hidden = (index < limit) | (index == -math.inf)
    scores = (query @ key.mT) / math.sqrt(query.size(-1))
    weights = torch.softmax(scores.masked_fill(hidden[:, None], -math.inf), dim=-1)
    return weights @ value, weights
