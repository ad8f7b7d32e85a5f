"""Attention to a few keys, which index scores pick, by definition, in float64."""

import torch

from . import qkv
from .remembered import remembered


def picked(index_scores: torch.Tensor, top_k: int) -> torch.Tensor:
    """Which keys each query sees, (b, t, t): of those up to its own, the `top_k` of largest index score."""
    seen = torch.zeros(index_scores.shape, dtype=torch.bool)
    for item, rows in enumerate(index_scores.double()):
        for place, row in enumerate(rows):
            best = sorted(range(place + 1), key=row.tolist().__getitem__, reverse=True)[:top_k]
            seen[item, place, best] = True
    return seen


@remembered
def indexed_attention(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, index_scores: torch.Tensor, top_k: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Causal attention to the keys that are picked for all heads together: `(output, weights)`.

    (b, h, t, d) twice, (b, h, t, dv) and (b, t, t) give (b, h, t, dv) and (b, h, t, t) (DeepSeek-AI 2025, equation 2).
    """
    return qkv.attention(query, key, value, picked(index_scores, top_k)[:, None])
