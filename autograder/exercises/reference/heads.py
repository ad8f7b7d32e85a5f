"""Attention with several heads by definition (Vaswani et al. 2017, section 3.2.2), one head after another.

Weights always have the same names here, whatever the module calls them: `query.weight`, `key.weight` and `value.weight`
of shape (h·w, d_in), of which head i owns the i-th block of w rows, and `out.weight` (d_out, h·w), `out.bias` (d_out,).
All biases are optional. Without `out.weight`, the output is that of the heads, side by side.
"""

import torch

from . import qkv
from .remembered import remembered

PARTS = ("query", "key", "value")


def causal(n: int) -> torch.Tensor:
    """(n, n): True where the key does not come after the query."""
    positions = torch.arange(n)
    return positions[:, None] >= positions[None, :]


@remembered
def multi_head(
    x: torch.Tensor,
    state: qkv.State,
    heads: int,
    is_causal: bool = False,
    context: torch.Tensor | None = None,
    context_mask: torch.Tensor | None = None,
) -> torch.Tensor:
    """Self-attention, (…, n, d_in) -> (…, n, d_out), or cross-attention, with keys and values from a context.

    (…, t, d_query) and a context (…, s, d_context) -> (…, t, d_out). The boolean mask (…, s), True = may attend, hides
    tokens of the context. Where it hides all, the heads give 0, and the output projection adds its bias.
    """
    mask = causal(x.shape[-2]) if is_causal else None
    if context_mask is not None:
        mask = context_mask.unsqueeze(-2)  # (…, 1, s): the same for each query
    sources = (x, *[x if context is None else context] * 2)
    width = state["query.weight"].shape[0] // heads
    found = []
    for head in range(heads):
        rows = slice(head * width, (head + 1) * width)
        own = {name: weight[rows] for name, weight in state.items() if not name.startswith("out.")}
        query, key, value = (
            qkv.project(z, own[f"{p}.weight"], own.get(f"{p}.bias")) for z, p in zip(sources, PARTS, strict=True)
        )
        found.append(qkv.attention(query, key, value, mask)[0])
    found = torch.cat(found, dim=-1)
    return qkv.project(found, state["out.weight"], state.get("out.bias")) if "out.weight" in state else found


@remembered
def largest_score(x: torch.Tensor, state: qkv.State, heads: int, context: torch.Tensor | None = None) -> float:
    """The largest absolute scaled score of all heads, so that checks can bring scores to a size they need."""
    width = state["query.weight"].shape[0] // heads
    scores = []
    for head in range(heads):
        rows = slice(head * width, (head + 1) * width)
        own = {f"{p}.weight": state[f"{p}.weight"][rows] for p in PARTS}
        scores.append(qkv.largest_score(x, own, PARTS, context))
    return max(scores)
