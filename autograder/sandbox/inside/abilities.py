"""What torch does on one machine and not on another, found by trying it.

A warm parent tries it before any lock, since torch looks at the processor the first time, which a child may not; then
each child tries it before it runs anything of a submission, and reports what fails.
"""

from __future__ import annotations

import contextlib
import functools

from .later import is_loaded, torch

FLOATS = ("float64", "float32", "float16", "bfloat16")  # the dtypes that a check may send and torch computes with


def set_up() -> None:
    """Have torch, if it is there, set itself up for what has code of its own for some processors, by doing it."""
    if not is_loaded():
        return
    lacking()
    with contextlib.suppress(Exception), torch.no_grad():
        torch.nn.functional.embedding_bag(torch.zeros(1, 1, dtype=torch.long), torch.ones(4, 4))


def lacking() -> dict[str, str]:
    """The dtypes with which torch can't compute in this process, if it has torch: {name: what it said}."""
    found: dict[str, str] = {}
    if not is_loaded():
        return found
    for name in FLOATS:
        try:
            with torch.no_grad():
                _compute(torch.ones(4, 4, dtype=getattr(torch, name)))
        except Exception as error:
            found[name] = f"{type(error).__name__}: {' '.join(str(error).split())}"
    return found


@functools.cache
def _asked_once() -> dict[str, str]:
    return lacking()


def lacking_here() -> dict[str, str]:
    """The same, asked once in this process, after torch has come."""
    return _asked_once() if is_loaded() else {}


def _compute(x: torch.Tensor) -> None:
    """Products of several kinds, and a sum: each goes its own way through torch."""
    torch.nn.functional.linear(x, x, x[0])
    torch.nn.functional.scaled_dot_product_attention(x, x, x)
    (x @ x[0]).softmax(-1)
