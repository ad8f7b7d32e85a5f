"""One attention head by definition (Vaswani et al. 2017, "Attention Is All You Need", section 3.2.1).

Everything is computed in float64 with products, exponentials and sums alone: no matmul, no softmax. All functions are
differentiable, so autograd through the definition gives the right gradients.
"""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import torch

from .remembered import remembered

State: TypeAlias = Mapping[str, torch.Tensor]  # weights by name


@remembered
def attention(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Scaled dot-product attention: softmax(query keyᵀ / √d) value over the keys that the mask allows.

    (…, t, d), (…, s, d), (…, s, dv) and a boolean mask that broadcasts to (…, t, s), True = may attend, give
    `(output, weights)` of shapes (…, t, dv) and (…, t, s). With nothing to attend to, weights and output are 0.
    """
    query, key, value = query.double(), key.double(), value.double()
    products = query.unsqueeze(-2) * key.unsqueeze(-3)  # (…, t, s, d)
    weights = softmax(products.sum(-1) / key.shape[-1] ** 0.5, mask)  # (…, t, s)
    output = (weights.unsqueeze(-1) * value.unsqueeze(-3)).sum(-2)  # (…, t, s, dv) summed over s
    return output, weights


def softmax(scores: torch.Tensor, allowed: torch.Tensor | None = None) -> torch.Tensor:
    """The softmax over the last dimension, over allowed entries only: (…, s) -> (…, s). Nothing allowed gives 0."""
    if scores.shape[-1] == 0:
        return scores
    allowed = torch.ones_like(scores, dtype=torch.bool) if allowed is None else allowed.expand(scores.shape)
    # Any shift cancels out; subtracting the largest allowed score keeps exp() in range. Hidden ones get a harmless 0.
    lowest = torch.full_like(scores, -torch.inf)
    largest = torch.where(allowed, scores.detach(), lowest).max(-1, keepdim=True).values
    shifted = torch.where(allowed, scores - torch.where(largest.isfinite(), largest, 0.0), 0.0)
    exponentials = torch.where(allowed, shifted.exp(), 0.0)
    total = exponentials.sum(-1, keepdim=True)
    return exponentials / torch.where(total > 0, total, 1.0)


def project(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    """A Linear layer: (…, d_in) and a weight (d_out, d_in) -> (…, d_out)."""
    product = (x.double().unsqueeze(-2) * weight.double()).sum(-1)
    return product if bias is None else product + bias.double()


@remembered
def head(x: torch.Tensor, state: State, names: Sequence[str]) -> torch.Tensor:
    """One head of self-attention: (…, n, d_in) -> (…, n, d_out).

    `names` are the Linear layers for queries, keys and values; `state` holds their weights, and biases if there are
    any, as "<name>.weight" and "<name>.bias".
    """
    queries, keys, values = (project(x, state[f"{n}.weight"], state.get(f"{n}.bias")) for n in names)
    return attention(queries, keys, values)[0]


@remembered
def largest_score(x: torch.Tensor, state: State, names: Sequence[str], context: torch.Tensor | None = None) -> float:
    """The largest absolute scaled score of a head, so that checks can bring scores to a size they need.

    `x` is (…, t, d_query); `context` is (…, s, d_context), or None if the head attends to x itself.
    """
    context = x if context is None else context
    queries, keys = (project(z, state[f"{n}.weight"]) for z, n in zip((x, context), names[:2], strict=True))
    return ((queries.unsqueeze(-2) * keys.unsqueeze(-3)).sum(-1) / keys.shape[-1] ** 0.5).abs().max().item()


def gradients(
    outputs: torch.Tensor | Sequence[torch.Tensor],
    upstream: torch.Tensor | Sequence[torch.Tensor],
    wanted: Sequence[torch.Tensor],
) -> list[torch.Tensor]:
    """The gradient of each tensor in `wanted` for `upstream` (one tensor per output); 0 where nothing depends on it."""
    found = torch.autograd.grad(outputs, wanted, upstream, allow_unused=True)
    return [torch.zeros_like(w) if g is None else g for g, w in zip(found, wanted, strict=True)]
