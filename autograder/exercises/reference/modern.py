"""The block of today's models by definition: RMSNorm, SwiGLU, rotary positions, grouped heads.

Everything is computed in float64, one head and one pair after another. The
weights have the names that the exercises give their layers.
"""

import math

import torch

from . import qkv
from .heads import causal
from .remembered import remembered

# How far a right answer in float64 may be off where angles and norms are made in float32, which is allowed: relative.
IN_FLOAT32 = 1e-5


def rms_norm(x: torch.Tensor, weight: torch.Tensor, eps: float = 1e-6) -> torch.Tensor:
    """x / √(mean of x² + eps) · weight: (…, d) -> (…, d) (Zhang and Sennrich 2019, equation 4)."""
    x = x.double()
    return x / (x.square().mean(-1, keepdim=True) + eps).sqrt() * weight.double()


def swiglu(x: torch.Tensor, state: qkv.State) -> torch.Tensor:
    """W_down(silu(W_gate(x)) · W_up(x)): (…, d) -> (…, d) (Shazeer 2020, equation 6)."""
    gate, up = (qkv.project(x, state[f"{name}.weight"]) for name in ("W_gate", "W_up"))
    return qkv.project(gate * torch.sigmoid(gate) * up, state["W_down.weight"])


@remembered
def rope(x: torch.Tensor, positions: torch.Tensor, base: float = 10000.0) -> torch.Tensor:
    """Pair i of x, its entries i and i + d/2, turned by position · base^(−2i/d): (…, t, d) -> (…, t, d).

    The positions are (t,), or (b, t) where x begins with b (Su et al. 2021, equation 15, in the half-split layout).
    """
    x, half = x.double(), x.shape[-1] // 2
    if positions.dim() == 2:
        positions = positions.reshape(positions.shape[0], *[1] * (x.dim() - 3), positions.shape[1])
    first, second = [], []
    for i in range(half):
        angle = positions.double() * math.pow(base, -2 * i / (2 * half))  # (t,) or (b, …, t)
        first.append(x[..., i] * angle.cos() - x[..., i + half] * angle.sin())
        second.append(x[..., i] * angle.sin() + x[..., i + half] * angle.cos())
    return torch.stack([*first, *second], dim=-1)


@remembered
def grouped_attention(
    x: torch.Tensor,
    state: qkv.State,
    num_heads: int,
    num_kv_heads: int,
    rope_base: float | None = None,
    positions: torch.Tensor | None = None,
) -> torch.Tensor:
    """Causal attention whose query head h uses key head ⌊h · num_kv_heads / num_heads⌋: (b, t, d) -> (b, t, d).

    Where the state has `q_norm.weight` and `k_norm.weight`, each head is normalised by them before it is rotated
    (Ainslie et al. 2023, section 2.2). The positions are 0 to t − 1 unless given.
    """
    t, head_dim = x.shape[-2], state["W_query.weight"].shape[0] // num_heads
    positions = torch.arange(t) if positions is None else positions

    def part(name, norm, head):
        rows = slice(head * head_dim, (head + 1) * head_dim)
        found = qkv.project(x, state[f"{name}.weight"][rows])
        if f"{norm}.weight" in state:
            found = rms_norm(found, state[f"{norm}.weight"])
        return rope(found, positions, rope_base) if norm and rope_base is not None else found

    found = []
    for head in range(num_heads):
        shared = head * num_kv_heads // num_heads
        query = part("W_query", "q_norm", head)
        key, value = part("W_key", "k_norm", shared), part("W_value", "", shared)
        found.append(qkv.attention(query, key, value, causal(t))[0])
    return qkv.project(torch.cat(found, dim=-1), state["out_proj.weight"])


def block(
    x: torch.Tensor, state: qkv.State, num_heads: int, num_kv_heads: int, rope_base: float | None = 10000.0
) -> torch.Tensor:
    """x + attention(norm(x)), then + mlp(norm(·)): (b, t, d) -> (b, t, d)."""

    def part(name):
        return {key.removeprefix(f"{name}."): value for key, value in state.items() if key.startswith(f"{name}.")}

    normed = rms_norm(x, state["attention_norm.weight"])
    x = x.double() + grouped_attention(normed, part("attention"), num_heads, num_kv_heads, rope_base)
    return x + swiglu(rms_norm(x, state["mlp_norm.weight"]), part("mlp"))
