"""Annotations of shapes and dtypes, a helper for the refusal, einsum for the places, a print of what was drawn."""

from __future__ import annotations

import torch
from torch import Tensor


def number_of_starts(n: int, block_size: int) -> int:
    if n <= block_size:
        raise ValueError(f"no block of {block_size} tokens, with one to follow, in {n}")
    return n - block_size


def get_batch(
    data: Int[Tensor, " n"],  # noqa: F821, F722  names of a package that is not there
    block_size: int,
    batch_size: int,
    generator: torch.Generator | None = None,
) -> tuple[Int[Tensor, " b t"], Int[Tensor, " b t"]]:  # noqa: F821, F722
    many: int = number_of_starts(len(data), block_size)
    starts: Tensor = torch.empty(batch_size, dtype=torch.int64).random_(0, many, generator=generator)
    print("starts:", starts[:3].tolist(), "…")
    ones = torch.ones(block_size + 1, dtype=torch.int64)
    places = torch.einsum("b,t->bt", starts, ones) + torch.arange(block_size + 1)[None]
    rows = torch.take(data, places)
    return rows[..., :-1], rows[..., 1:]
