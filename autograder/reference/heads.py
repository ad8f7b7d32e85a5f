"""Attention with several heads by its definition (Vaswani et al. 2017, section 3.2.2), one head after another.

A layer's weights are given in one form, whatever the layer calls them: `query.weight`, `key.weight` and `value.weight`
of shape (h·w, d_in), of which head i owns the i-th block of w rows, and `out.weight` (d_out, h·w), `out.bias` (d_out,).
Biases of the first three are optional.
"""

import torch

from . import qkv

PARTS = ("query", "key", "value")


def causal(n):
    """(n, n): True where the key does not come after the query."""
    positions = torch.arange(n)
    return positions[:, None] >= positions[None, :]


def multi_head(x, state, heads, is_causal=False):
    """(…, n, d_in) -> (…, n, d_out)."""
    mask = causal(x.shape[-2]) if is_causal else None
    width = state["query.weight"].shape[0] // heads
    found = []
    for head in range(heads):
        rows = slice(head * width, (head + 1) * width)
        own = {name: weight[rows] for name, weight in state.items() if not name.startswith("out.")}
        query, key, value = (qkv.project(x, own[f"{p}.weight"], own.get(f"{p}.bias")) for p in PARTS)
        found.append(qkv.attention(query, key, value, mask)[0])
    return qkv.project(torch.cat(found, dim=-1), state["out.weight"], state.get("out.bias"))


def largest_score(x, state, heads):
    """The largest absolute scaled score of all heads, to bring scores to a size that a check wants."""
    width = state["query.weight"].shape[0] // heads
    scores = []
    for head in range(heads):
        rows = slice(head * width, (head + 1) * width)
        own = {f"{p}.weight": state[f"{p}.weight"][rows] for p in PARTS}
        scores.append(qkv.largest_score(x, own, PARTS))
    return max(scores)
