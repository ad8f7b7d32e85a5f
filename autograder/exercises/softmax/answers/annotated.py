"""Type hints as in a typed library: jaxtyping's shapes, an alias, a generic helper, names bound with `Final`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from jaxtyping import Float
from torch import Tensor

Scores: TypeAlias = Float[Tensor, "*shape"]
NOTHING: Final[float] = float("-inf")
Step: TypeAlias = Callable[[Tensor], Tensor]


def softmax(scores: Scores, dim: int = -1) -> Float[Tensor, "*shape"]:
    largest: Float[Tensor, "..."] = scores.detach().amax(dim=dim, keepdim=True)
    shift: Step = lambda x: x - largest.masked_fill(largest == NOTHING, 0.0)  # noqa: E731
    powers: Scores = shift(scores).exp()
    total: Float[Tensor, "..."] = powers.sum(dim=dim, keepdim=True)
    return powers / total.masked_fill(total == 0, 1.0)
