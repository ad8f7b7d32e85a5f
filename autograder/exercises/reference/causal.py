"""Masks, and attention under them, by definition: entry by entry, in float64, differentiable.

`qkv` does the arithmetic of a head. Nothing here uses torch's own `tril` or `triu`.
"""

from collections.abc import Sequence

import torch
from torch import nn

from . import qkv
from .remembered import remembered


@remembered
def causal_mask(t: int) -> torch.Tensor:
    """(t, t), True where the row's token may attend to the column's token: to itself and to those before it."""
    return torch.tensor([[column <= row for column in range(t)] for row in range(t)], dtype=torch.bool).reshape(t, t)


@remembered
def padding_mask(lengths: torch.Tensor, max_len: int | None = None) -> torch.Tensor:
    """(b, max_len) for a tensor of lengths (b,), True where there is a real token."""
    max_len = int(lengths.max()) if max_len is None else max_len
    rows = [[place < length for place in range(max_len)] for length in lengths.tolist()]
    return torch.tensor(rows, dtype=torch.bool).reshape(len(lengths), max_len)


@remembered
def masked_weights(query: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
    """The causal weights without a scale: (b, t, d) twice -> (b, t, t)."""
    products = query.double().unsqueeze(-2) * key.double().unsqueeze(-3)  # (b, t, t, d)
    return qkv.softmax(products.sum(-1), causal_mask(query.shape[-2]))


@remembered
def head(
    x: torch.Tensor, state: qkv.State, names: Sequence[str], padding: torch.Tensor | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """One causal head: `(output, weights)` of shapes (b, n, d_out) and (b, n, n).

    `names` are the Linear layers for queries, keys and values, `state` holds their weights and biases as in
    `qkv.head`. `padding` is a mask of (b, n) that hides keys; a query with nothing left gets weights and output 0.
    """
    queries, keys, values = (qkv.project(x, state[f"{n}.weight"], state.get(f"{n}.bias")) for n in names)
    allowed = causal_mask(x.shape[-2])
    if padding is not None:
        allowed = allowed & padding.unsqueeze(-2)  # (n, n) and (b, 1, n) -> (b, n, n)
    return qkv.attention(queries, keys, values, allowed)


# What notebook 003 prints for `wei[0]`, to four decimals.
PRINTED_003 = torch.tensor(
    [
        [1.0000, 0.0000, 0.0000, 0.0000, 0.0000, 0.0000, 0.0000, 0.0000],
        [0.1574, 0.8426, 0.0000, 0.0000, 0.0000, 0.0000, 0.0000, 0.0000],
        [0.2088, 0.1646, 0.6266, 0.0000, 0.0000, 0.0000, 0.0000, 0.0000],
        [0.5792, 0.1187, 0.1889, 0.1131, 0.0000, 0.0000, 0.0000, 0.0000],
        [0.0294, 0.1052, 0.0469, 0.0276, 0.7909, 0.0000, 0.0000, 0.0000],
        [0.0176, 0.2689, 0.0215, 0.0089, 0.6812, 0.0019, 0.0000, 0.0000],
        [0.1691, 0.4066, 0.0438, 0.0416, 0.1048, 0.2012, 0.0329, 0.0000],
        [0.0210, 0.0843, 0.0555, 0.2297, 0.0573, 0.0709, 0.2423, 0.2391],
    ],
    dtype=torch.float64,
)


@remembered
def drawn_by_003() -> tuple[torch.Tensor, torch.Tensor]:
    """The query and the key, (4, 8, 16) each, that notebook 003 draws after seeding torch with 1337."""
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.default_generator.manual_seed(1337)
        x = torch.randn(4, 8, 32)
        key, query = nn.Linear(32, 16, bias=False), nn.Linear(32, 16, bias=False)
        return query(x), key(x)
