import torch
import torch.nn.functional as F


def capped_attention(query, key, value, cap, mask=None):
    """In the three lines of Gemma's own code, then harmless scores for rows without a key."""
    scores = torch.matmul(query, key.transpose(-1, -2)) / (query.shape[-1] ** 0.5)
    scores = scores / cap
    scores = torch.tanh(scores)
    scores = scores * cap
    if mask is not None:
        empty = ~mask.any(dim=-1, keepdim=True)
        scores = scores.masked_fill(~mask, float("-inf")).masked_fill(empty, 0.0)
    weights = F.softmax(scores, dim=-1)
    if mask is not None:
        weights = weights.masked_fill(empty, 0.0)
    return torch.matmul(weights, value), weights
