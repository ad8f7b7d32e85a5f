"""Attention of new tokens to those so far, by definition: what a cache holds or drops, who sees whom, ALiBi.

Everything is computed in float64. `modern` has the same attention for a whole sequence at once.
"""

import torch

from . import modern, qkv
from .remembered import remembered


def seen_by_the_last(t: int, s: int) -> torch.Tensor:
    """Which of s places the last t of them see, (t, s): query i stands at place s − t + i, and sees all up to there."""
    return torch.arange(s)[None, :] <= s - t + torch.arange(t)[:, None]


@remembered
def attention_of_the_last(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """The output for queries (…, t, d) at the last t of s places: keys (…, s, d), values (…, s, dv) -> (…, t, dv)."""
    return qkv.attention(query, key, value, seen_by_the_last(query.shape[-2], key.shape[-2]))[0]


def _heads(x: torch.Tensor, weight: torch.Tensor, number: int) -> torch.Tensor:
    """What a layer makes of x (b, t, d_model), cut into heads: (b, number, t, w)."""
    made = qkv.project(x, weight)
    return torch.stack(made.chunk(number, dim=-1), dim=1)


def _placed(x: torch.Tensor, state: qkv.State, norm: str, start: int, rope_base: float | None) -> torch.Tensor:
    """Heads (b, n, t, w), normalised if the state says how, and rotated for the places from `start` on."""
    if f"{norm}.weight" in state:
        x = modern.rms_norm(x, state[f"{norm}.weight"])
    return x if rope_base is None else modern.rope(x, start + torch.arange(x.shape[-2]), rope_base)


@remembered
def keys_and_values(
    x: torch.Tensor, state: qkv.State, num_kv_heads: int, rope_base: float | None = None, start: int = 0
) -> tuple[torch.Tensor, torch.Tensor]:
    """What a cache should hold of tokens (b, t, d_model) from place `start` on: (b, num_kv_heads, t, w) twice."""
    keys = _heads(x, state["W_key.weight"], num_kv_heads)
    return _placed(keys, state, "k_norm", start, rope_base), _heads(x, state["W_value.weight"], num_kv_heads)


@remembered
def attention_to_all(
    x: torch.Tensor,
    state: qkv.State,
    num_heads: int,
    keys: torch.Tensor,
    values: torch.Tensor,
    rope_base: float | None = None,
) -> torch.Tensor:
    """Grouped attention of the last tokens (b, t, d_model) to the keys and values of all s, theirs included.

    Query head h uses key head ⌊h · num_kv_heads / num_heads⌋ (Ainslie et al. 2023, section 2.2).
    """
    queries = _heads(x, state["W_query.weight"], num_heads)
    queries = _placed(queries, state, "q_norm", keys.shape[-2] - x.shape[-2], rope_base)
    shared = torch.arange(num_heads) * keys.shape[1] // num_heads
    found = attention_of_the_last(queries, keys[:, shared], values[:, shared])  # (b, h, t, w)
    return qkv.project(torch.cat(found.unbind(1), dim=-1), state["out_proj.weight"])


def kept(place: int, first: int, window: int) -> list[int]:
    """The tokens that the one at this place of the text sees: the first ones, and the last `window` with itself."""
    return [one for one in range(place + 1) if one < first or one > place - window]


@remembered
def evicting_attention(
    x: torch.Tensor,
    state: qkv.State,
    num_heads: int,
    num_kv_heads: int,
    first: int,
    window: int,
    rope_base: float | None = None,
) -> torch.Tensor:
    """What each token of x (b, t, d_model) gets of the first tokens and the last ones: (b, t, d_model).

    Those that it sees stand at the places 0, 1, 2, …, whatever lay between them in the text (Xiao et al. 2023,
    section 3.2).
    """
    outputs = []
    for place in range(x.shape[1]):
        seen = x[:, kept(place, first, window)]
        keys, values = keys_and_values(seen, state, num_kv_heads, rope_base)
        outputs.append(attention_to_all(seen[:, -1:], state, num_heads, keys, values, rope_base))
    return torch.cat(outputs, dim=1)


def sliding_window(t: int, window: int) -> torch.Tensor:
    """(t, t): True where the key is the query itself or one of the window − 1 before it."""
    rows = [[0 <= query - key <= window - 1 for key in range(t)] for query in range(t)]
    return torch.tensor(rows, dtype=torch.bool).reshape(t, t)


def slopes(num_heads: int) -> list[float]:
    """ALiBi's slope of each head (Press, Smith, Lewis 2022, section 3, and their program for other numbers of heads).

    For a power of two, 2^(−8/n), and each next one that times as large; else those of the next lower power of two, and
    then every second one of twice that power, from the first on.
    """
    lower = 1
    while 2 * lower <= num_heads:
        lower *= 2
    first = [2.0 ** (-8.0 * number / lower) for number in range(1, lower + 1)]
    between = [2.0 ** (-8.0 * number / (2 * lower)) for number in range(1, 2 * lower + 1, 2)]
    return (first + between)[:num_heads]


def alibi(num_heads: int, t: int) -> torch.Tensor:
    """−slope · (i − j) for query i and key j ≤ i, and 0 above the diagonal: (num_heads, t, t)."""
    back = (torch.arange(t)[:, None] - torch.arange(t)[None, :]).clamp(min=0).double()
    return -torch.tensor(slopes(num_heads), dtype=torch.float64)[:, None, None] * back
