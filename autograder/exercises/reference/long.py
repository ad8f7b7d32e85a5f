"""Attention to long texts by definition: capped scores, a sink, merged parts, keys and values made of a latent vector.

Everything is computed in float64 and is differentiable. Attention in tiles is attention, so `qkv.attention` is its
reference.
"""

import torch

from . import qkv
from .heads import causal
from .remembered import remembered


def scores_of(query: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
    """query keyᵀ / √d: (…, t, d), (…, s, d) -> (…, t, s)."""
    return (query.double().unsqueeze(-2) * key.double().unsqueeze(-3)).sum(-1) / key.shape[-1] ** 0.5


def mixed(weights: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """The values, each times its weight: (…, t, s), (…, s, dv) -> (…, t, dv)."""
    return (weights.unsqueeze(-1) * value.double().unsqueeze(-3)).sum(-2)


@remembered
def capped_attention(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, cap: float, mask: torch.Tensor | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Attention with scores of cap · tanh(score / cap) (Gemma Team 2024, "Gemma 2", section 2): `(output, weights)`.

    Shapes and masks are those of `qkv.attention`.
    """
    weights = qkv.softmax(cap * torch.tanh(scores_of(query, key) / cap), mask)
    return mixed(weights, value), weights


@remembered
def sink_attention(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, sink: torch.Tensor, mask: torch.Tensor | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Attention with one more logit per head, which has no value (Xiao et al. 2023, section 3.3, as in gpt-oss).

    (b, h, t, d), (b, h, s, d), (b, h, s, dv), `sink` (h,) and a mask that broadcasts to (b, h, t, s) give
    (b, h, t, dv) and (b, h, t, s). No mask hides the sink, so a query with nothing else gets weights of 0.
    """
    scores = scores_of(query, key)
    last = sink.double().reshape(-1, 1, 1).expand(*scores.shape[:-1], 1)
    seen = torch.ones_like(scores, dtype=torch.bool) if mask is None else mask.expand(scores.shape)
    seen = torch.cat([seen, torch.ones_like(last, dtype=torch.bool)], dim=-1)
    weights = qkv.softmax(torch.cat([scores, last], dim=-1), seen)[..., :-1]
    return mixed(weights, value), weights


def part(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Attention and the logarithm of the sum of its exponentials, (…, t, dv) and (…, t); no keys give 0 and -inf."""
    scores = scores_of(query, key)
    if key.shape[-2] == 0:
        return mixed(scores, value), scores.new_full(scores.shape[:-1], -torch.inf)
    largest = scores.detach().amax(-1)
    return qkv.attention(query, key, value)[0], (scores - largest[..., None]).exp().sum(-1).log() + largest


@remembered
def merge(
    output_a: torch.Tensor, lse_a: torch.Tensor, output_b: torch.Tensor, lse_b: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Attention to two sets of keys from attention to each: (…, t, dv), (…, t) twice -> `(output, lse)`.

    Each output counts by the sum of its exponentials (Milakov and Gimelshein 2018, section 3.1). A side with lse = -inf
    is empty; two empty ones give 0 and -inf, and no gradients.
    """
    lse = torch.stack([lse_a, lse_b], dim=-1).double()  # (…, t, 2)
    seen = lse > -torch.inf
    shares = qkv.softmax(torch.where(seen, lse, 0.0), seen)
    output = shares[..., :1] * output_a.double() + shares[..., 1:] * output_b.double()
    largest = torch.where(seen.any(-1), lse.detach().amax(-1), 0.0)
    powers = torch.where(seen, torch.where(seen, lse, 0.0) - largest[..., None], -torch.inf).exp().sum(-1)
    total = torch.where(seen.any(-1), powers, 1.0).log() + largest
    return output, torch.where(seen.any(-1), total, -torch.inf)


@remembered
def latent_attention(x: torch.Tensor, state: qkv.State, num_heads: int) -> torch.Tensor:
    """Causal attention whose keys and values are made of one latent vector per token: (b, t, d_model) -> the same.

    DeepSeek-V2 (2024), section 2.1.2, equations 9 to 11, without its rotated part. Head i owns the i-th block of rows
    of W_query, W_up_key and W_up_value.
    """
    width = state["W_query.weight"].shape[0] // num_heads
    latent, found = qkv.project(x, state["W_down.weight"]), []
    for head in range(num_heads):
        rows = slice(head * width, (head + 1) * width)
        query, key, value = (
            qkv.project(source, state[f"{name}.weight"][rows])
            for source, name in ((x, "W_query"), (latent, "W_up_key"), (latent, "W_up_value"))
        )
        found.append(qkv.attention(query, key, value, causal(x.shape[-2]))[0])
    return qkv.project(torch.cat(found, dim=-1), state["out_proj.weight"])
