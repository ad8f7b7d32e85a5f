"""Attention whose heads go through a gate, by definition, in float64."""

import torch

from . import qkv
from .heads import causal
from .remembered import remembered


@remembered
def gated_attention(x: torch.Tensor, state: qkv.State, num_heads: int) -> torch.Tensor:
    """out_proj(σ(W_gate x) · heads), causal: (b, t, d_model) -> the same (Qiu et al. 2025, equation 5).

    Head i owns the i-th block of features.
    """
    query, key, value = (
        qkv.project(x, state[f"{name}.weight"]).chunk(num_heads, dim=-1) for name in ("W_query", "W_key", "W_value")
    )
    found = [qkv.attention(*parts, causal(x.shape[-2]))[0] for parts in zip(query, key, value, strict=True)]
    gate = 1 / (1 + (-qkv.project(x, state["W_gate.weight"])).exp())
    return qkv.project(gate * torch.cat(found, dim=-1), state["out_proj.weight"])
