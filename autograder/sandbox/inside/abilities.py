"""What torch does on one machine and not on another, found by trying it.

A warm parent tries it before any lock, since torch looks at the processor the first time, which a child may not; then
each child tries it before it runs anything of a submission, and reports what fails.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def _products(dtype: torch.dtype) -> None:
    """Each operation that has code of its own for some processors: products of several kinds, and what sums them up."""
    x = torch.ones(4, 4, dtype=dtype)
    torch.nn.functional.linear(x, x, x[0])
    torch.nn.functional.scaled_dot_product_attention(x, x, x)
    (x @ x[0]).softmax(-1)
    torch.nn.functional.embedding_bag(torch.zeros(1, 1, dtype=torch.long), x)


# by the name of the dtype, as torch has it: those that a check may send
TRIES: Mapping[str, Callable[[], None]] = {
    name: lambda name=name: _products(getattr(torch, name)) for name in ("float64", "float32", "float16", "bfloat16")
}


def lacking() -> dict[str, str]:
    """What can't be done in this process: for each name of TRIES that failed, what torch said."""
    found = {}
    for name, tried in TRIES.items():
        try:
            with torch.no_grad():
                tried()
        except Exception as error:
            found[name] = f"{type(error).__name__}: {' '.join(str(error).split())}"
    return found
