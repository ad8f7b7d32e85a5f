"""Helper functions: a count of ends seen so far, with shapes in the annotations."""

# ruff: noqa: F722, F821
import torch
from torch import Tensor


def refuse(condition: bool, message: str) -> None:
    if condition:
        raise ValueError(message)


def ends(lengths: "b", width: int) -> "b width+1":
    """1 where a sequence has just ended."""
    found = torch.zeros(len(lengths), width + 1, dtype=torch.int64, device=lengths.device)
    return found.scatter(1, lengths.long()[:, None], 1)


def padding_mask(lengths: Tensor, max_len: "int | None" = None) -> "Bool[Tensor, 'b max_len']":
    refuse(lengths.ndim != 1, f"lengths have {lengths.ndim} dimensions and should have 1")
    smallest, largest = min(lengths.tolist()), max(lengths.tolist())
    refuse(smallest < 0, f"there is a length of {smallest}")
    width = largest if max_len is None else max_len
    refuse(largest > width, f"there is a length of {largest}, and max_len is {width}")
    return ends(lengths, width).cumsum(1)[:, :width] == 0
