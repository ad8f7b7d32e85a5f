"""Co-attention by its definition (Lu, Yang, Batra and Parikh 2016, section 3.3), with tokens as rows, in float64.

The paper's tokens are columns. Everything is computed with products and sums over named dimensions: no matmul.
"""

from typing import TypeAlias

import torch

from . import heads, qkv
from .remembered import remembered

Maps: TypeAlias = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]  # `(v_hat, q_hat, a_v, a_q)`


@remembered
def parallel(
    v: torch.Tensor,
    q: torch.Tensor,
    state: qkv.State,
    v_mask: torch.Tensor | None = None,
    q_mask: torch.Tensor | None = None,
) -> Maps:
    """Both maps at once: (b, n, d) and (b, t, d) -> `(v_hat, q_hat, a_v, a_q)`, (b, d) twice, (b, n) and (b, t).

    `state` holds the weights of `W_b` (d, d), `W_v` and `W_q` (k, d), `w_hv` and `w_hq` (1, k). Of masks (b, n) and
    (b, t), True = may be seen; what is hidden has no influence and weight 0.
    """
    v, q = v.double(), q.double()
    own_v, own_q = (qkv.project(x, state[f"{name}.weight"]) for x, name in [(v, "W_v"), (q, "W_q")])
    found = affinity(v, q, state["W_b.weight"])  # (b, t, n)
    for mask, side in ((v_mask, 1), (q_mask, 2)):
        found = found if mask is None else torch.where(mask.unsqueeze(side), found, 0.0)
    found = found.unsqueeze(-1)
    h_v = torch.tanh(own_v + (found * own_q.unsqueeze(2)).sum(1))  # (b, t, n, k) summed over the question's tokens
    h_q = torch.tanh(own_q + (found * own_v.unsqueeze(1)).sum(2))  # (b, t, n, k) summed over the image's tokens
    v_hat, a_v = summary(v, h_v, state["w_hv.weight"], v_mask)
    q_hat, a_q = summary(q, h_q, state["w_hq.weight"], q_mask)
    return v_hat, q_hat, a_v, a_q


def affinity(v: torch.Tensor, q: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """How well each token of q fits each of v, between -1 and 1: (b, n, d), (b, t, d) and (d, d) -> (b, t, n)."""
    products = q.double().unsqueeze(2) * qkv.project(v, weight).unsqueeze(1)
    return torch.tanh(products.sum(-1))  # (b, t, n, d) summed over the features


@remembered
def alternating(
    v: torch.Tensor,
    q: torch.Tensor,
    state: qkv.State,
    v_mask: torch.Tensor | None = None,
    q_mask: torch.Tensor | None = None,
) -> Maps:
    """One map after the other: (b, n, d) and (b, t, d) -> `(v_hat, q_hat, a_v, a_q)`, as `parallel`.

    `state` holds, for each step i of 0, 1, 2, the weights of `steps.i.W_x`, `steps.i.W_g` (k, d) and `steps.i.w_hx`
    (1, k); that of `steps.0.W_g` is not used. Masks are those of `parallel`.
    """
    q_first, _ = guided(q, None, state, 0, q_mask)
    v_hat, a_v = guided(v, q_first, state, 1, v_mask)
    q_hat, a_q = guided(q, v_hat, state, 2, q_mask)
    return v_hat, q_hat, a_v, a_q


def guided(
    x: torch.Tensor, guide: torch.Tensor | None, state: qkv.State, step: int, mask: torch.Tensor | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """One step: tokens (b, s, d) and a guide (b, d), or None for zero -> their summary (b, d) and weights (b, s)."""
    x = x.double()
    inner = qkv.project(x, state[f"steps.{step}.W_x.weight"])  # (b, s, k)
    if guide is not None:
        inner = inner + qkv.project(guide, state[f"steps.{step}.W_g.weight"]).unsqueeze(1)
    return summary(x, torch.tanh(inner), state[f"steps.{step}.w_hx.weight"], mask)


def summary(
    x: torch.Tensor, hidden: torch.Tensor, weight: torch.Tensor, mask: torch.Tensor | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Tokens (b, s, d) and hidden features (b, s, k) that give their weights -> a summary (b, d), weights (b, s).

    Tokens that the mask (b, s) hides have weight 0; where it leaves nothing, so is the summary.
    """
    weights = qkv.softmax(qkv.project(hidden, weight).squeeze(-1), mask)
    return (weights.unsqueeze(-1) * x).sum(1), weights


# The names in the modules' state of what `heads` calls query, key, value and out.
NAMES = {"query": "W_query", "key": "W_key", "value": "W_value", "out": "out_proj"}


@remembered
def streams(
    v: torch.Tensor,
    q: torch.Tensor,
    state: qkv.State,
    number: int,
    v_mask: torch.Tensor | None = None,
    q_mask: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Two cross-attentions in opposite directions (Lu et al. 2019, "ViLBERT", section 3.1), and nothing around them.

    (b, n, d) and (b, t, d), boolean masks (b, n) and (b, t), True = may attend -> the new v (b, n, d) and the new q
    (b, t, d), with `number` heads. `state` holds the weights of `v_to_q` and `q_to_v`.
    """
    new_v = heads.multi_head(v, of_way(state, "v_to_q"), number, context=q, context_mask=q_mask)
    new_q = heads.multi_head(q, of_way(state, "q_to_v"), number, context=v, context_mask=v_mask)
    return new_v, new_q


def of_way(state: qkv.State, way: str) -> dict[str, torch.Tensor]:
    """The weights of one direction, in the form of `heads`."""
    found = {f"{part}.weight": state[f"{way}.{name}.weight"] for part, name in NAMES.items()}
    return {**found, "out.bias": state[f"{way}.out_proj.bias"]}
