import math

import torch


def cached_attention(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    *_, t, d = query.shape
    s = key.size(-2)
    if s < t:
        raise ValueError(f"expected at most {s} queries, got {t}")
    scores = torch.matmul(query, key.transpose(-1, -2)) / math.sqrt(d)
    future = torch.triu(torch.ones(t, s, device=query.device, dtype=torch.bool), diagonal=s - t + 1)
    weights = torch.softmax(scores.masked_fill(future, float("-inf")), dim=-1)
    return torch.matmul(weights, value)
