"""Scores of ±10,000 at which only -∞ hides what is hidden.

Those of the first half of the tokens are -10,000, whoever asks, and those of the second half 10,000. So in the first
half, a score of -10,000 in place of a hidden one has as much weight as all others, and a bias of -10,000 on top of it
has more.
"""

import torch

from ...checks.api import HUGE
from ...checks.steps import Weights


def signs(n: int, low: int | None = None) -> torch.Tensor:
    """-1 for the first `low` of n tokens (n,), by default half of them, and 1 for the others."""
    return torch.where(torch.arange(n) < ((n + 1) // 2 if low is None else low), -1.0, 1.0)


def queries_and_keys(
    query: torch.Tensor, key: torch.Tensor, low: int | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Queries (…, t, d) and keys (…, s, d) in place of these, whose scores are so; the first `low` keys are low."""
    kinds = signs(key.shape[-2], low)[:, None].expand_as(key)
    return torch.full_like(query, HUGE), kinds * key.shape[-1] ** -0.5


def low_then_high(
    x: torch.Tensor, state: Weights, width: int, query: str = "W_query", key: str = "W_key"
) -> tuple[torch.Tensor, Weights]:
    """An input (b, n, d) and weights whose scores are so, in heads of that width: the first two features make them."""
    x, state = x.clone(), dict(state)
    x[..., 0], x[..., 1] = 1.0, signs(x.shape[1])
    for name, feature, size in ((query, 0, HUGE), (key, 1, width**-0.5)):
        weight = torch.zeros_like(state[f"{name}.weight"])
        weight[:, feature] = size
        state[f"{name}.weight"] = weight
    return x, state


def high_where_hidden(
    mask: torch.Tensor, x: torch.Tensor, context: torch.Tensor, query: torch.Tensor, key: torch.Tensor, heads: int = 1
) -> tuple[torch.Tensor, ...]:
    """Tokens (b, t, d), others (b, s, d_context), and weights of queries and keys, in place of these.

    Whoever asks, tokens that the mask (b, s) hides have scores of 10,000, and the others -10,000: even less 10,000
    they have more weight than what is seen.
    """
    x, context, query, key = (one.clone() for one in (x, context, query, key))
    x[..., 0], context[..., 1] = 1.0, torch.where(mask, -1.0, 1.0)
    query.zero_()[:, 0] = HUGE
    key.zero_()[:, 1] = (key.shape[0] // heads) ** -0.5
    return x, context, query, key
