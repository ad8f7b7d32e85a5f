"""Rotary frequencies for texts that are longer than those of the training, by definition, in float64."""

import math

import torch


def plain(head_dim: int, base: float) -> torch.Tensor:
    """By how much each pair turns per place, (head_dim/2,): base^(−2i/head_dim) (Su et al. 2021)."""
    return torch.tensor([base ** (-2 * i / head_dim) for i in range(head_dim // 2)], dtype=torch.float64)


def turns(head_dim: int, base: float, original_length: float) -> torch.Tensor:
    """How often each pair turns round in the texts of the training, (head_dim/2,)."""
    return original_length * plain(head_dim, base) / (2 * math.pi)


def yarn_frequencies(
    head_dim: int, base: float, factor: float, original_length: float, slow: float = 1, fast: float = 32
) -> torch.Tensor:
    """Divided by `factor` for pairs of at most `slow` turns, kept for `fast` or more: (head_dim/2,).

    Between them a share is kept that grows linearly in the turns (Peng et al. 2023, section 3.2).
    """
    found = []
    for frequency, turned in zip(
        plain(head_dim, base).tolist(), turns(head_dim, base, original_length).tolist(), strict=True
    ):
        kept = 0.0 if turned < slow else 1.0 if turned > fast else (turned - slow) / (fast - slow)
        found.append((1 - kept) * frequency / factor + kept * frequency)
    return torch.tensor(found, dtype=torch.float64)
