"""What `attention` and its relatives with one more argument get in checks, and give: sizes, inputs, parts."""

from collections.abc import Sequence
from typing import Any

import torch

from ....checks.api import Draw, pair

B, H, T, S, D, DV = 2, 3, 5, 7, 16, 6  # all different; the root of 16 is exact in any dtype, and not its half


def inputs(
    draw: Draw, *leading: int, dtype: torch.dtype = torch.float32, grad: bool = False, d: int = D
) -> list[torch.Tensor]:
    """A query, a key and a value of all-different sizes, with these leading dimensions."""
    return [draw.normal(*leading, *size, dtype=dtype, grad=grad) for size in [(T, d), (S, d), (S, DV)]]


def sizes(given: Sequence[Any]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shapes of the output and of the weights for a query, a key and a value, whatever else is given."""
    query, key, value = given[:3]
    rows = (*query.shape[:-2], query.shape[-2])
    return (*rows, value.shape[-1]), (*rows, key.shape[-2])


def parts(got: Any, given: Sequence[Any]) -> tuple[Any, Any]:
    """The output and the weights, also from a pair in the wrong order; from the output alone, the weights are None."""
    if isinstance(got, torch.Tensor):
        return got, None
    one, other = pair(got)
    shapes = tuple(tuple(part.shape) if isinstance(part, torch.Tensor) else None for part in (other, one))
    return (other, one) if shapes == sizes(given) != shapes[::-1] else (one, other)
