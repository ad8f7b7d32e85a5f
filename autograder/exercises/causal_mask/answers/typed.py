"""Types and shapes as annotations, and one row of places against itself."""

# ruff: noqa: F722, F821
import torch
from torch import Tensor


def places(t: int, device: "torch.device | str | None") -> "t":
    return torch.linspace(0, max(t - 1, 0), t, device=device).round()


def causal_mask(t: int, device: "torch.device | str | None" = None) -> "Bool[Tensor, 't t']":
    rows: Tensor = places(t, device).view(t, 1)
    columns: Tensor = places(t, device).view(1, t)
    return torch.le(columns, rows)
