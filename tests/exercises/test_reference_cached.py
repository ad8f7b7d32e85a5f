"""The reference for caches, windows and distances against torch's own functions, and against published numbers."""

import math
import warnings

import pytest
import torch
import torch.nn.functional as F

from autograder.exercises.reference import cached, modern, qkv


@pytest.fixture
def normal():
    """Random float64 tensors of any shape."""
    generator = torch.Generator().manual_seed(0)
    return lambda *shape: torch.randn(shape, generator=generator, dtype=torch.float64, requires_grad=True)


def equal(got, expected):
    assert got.shape == expected.shape
    assert got.dtype is torch.float64
    assert torch.allclose(got, expected, rtol=1e-11, atol=1e-13)


# --- queries at the end of a text -----------------------------------------------------------------


@pytest.mark.parametrize("t, s", [(1, 1), (1, 5), (2, 5), (5, 5), (7, 11)])
def test_the_last_of_some_places_see_what_torchs_lower_right_triangle_shows(normal, t, s):
    from torch.nn.attention.bias import causal_lower_right

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bias = causal_lower_right(t, s)
    assert torch.equal(cached.seen_by_the_last(t, s), bias._materialize())
    query, key, value = normal(2, 3, t, 4), normal(2, 3, s, 4), normal(2, 3, s, 6)
    got = cached.attention_of_the_last(query, key, value)
    expected = F.scaled_dot_product_attention(query, key, value, attn_mask=bias)
    equal(got, expected)
    upstream, wanted = normal(2, 3, t, 6), [query, key, value]
    for one, other in zip(
        qkv.gradients([got], [upstream], wanted), torch.autograd.grad([expected], wanted, [upstream]), strict=True
    ):
        equal(one, other)


def test_they_are_the_last_rows_of_causal_attention_to_the_whole(normal):
    query, key, value = (normal(2, 3, 8, 4) for _ in range(3))
    whole = F.scaled_dot_product_attention(query, key, value, is_causal=True)
    for t in range(1, 9):
        equal(cached.attention_of_the_last(query[:, :, 8 - t :], key, value), whole[:, :, 8 - t :])


def test_torchs_own_triangle_shows_a_single_query_the_first_key_alone(normal):
    """What the original of `cached_attention` does, as long as torch's triangle starts in the upper left corner."""
    query, key, value = normal(1, 1, 1, 4), normal(1, 1, 5, 4), normal(1, 1, 5, 4)
    equal(F.scaled_dot_product_attention(query, key, value, is_causal=True), value[:, :, :1])


# --- a cache --------------------------------------------------------------------------------------


def weights(normal, heads, kv, width=6, d=10, qk_norm=False):
    sizes = {"W_query": (heads * width, d), "W_key": (kv * width, d), "W_value": (kv * width, d)}
    sizes["out_proj"] = (d, heads * width)
    if qk_norm:
        sizes |= {"q_norm": (width,), "k_norm": (width,)}
    return {f"{name}.weight": normal(*size) for name, size in sizes.items()}


@pytest.mark.parametrize("heads, kv", [(4, 4), (4, 2), (6, 2), (4, 1)])
@pytest.mark.parametrize("rope_base, qk_norm", [(None, False), (50.0, False), (50.0, True)])
def test_tokens_in_parts_get_what_all_get_at_once(normal, heads, kv, rope_base, qk_norm):
    state, x = weights(normal, heads, kv, qk_norm=qk_norm), normal(2, 7, 10)
    whole = modern.grouped_attention(x, state, heads, kv, rope_base)
    found, kept = [], []
    for part in x.split((3, 1, 2, 1), dim=1):
        kept.append(cached.keys_and_values(part, state, kv, rope_base, start=sum(k.shape[2] for k, _ in kept)))
        keys, values = (torch.cat(parts, dim=2) for parts in zip(*kept, strict=True))
        found.append(cached.attention_to_all(part, state, heads, keys, values, rope_base))
    equal(torch.cat(found, dim=1), whole)


@pytest.mark.parametrize("heads, kv", [(4, 4), (4, 2), (6, 2), (4, 1)])
def test_shared_heads_are_torchs(normal, heads, kv):
    state, x = weights(normal, heads, kv), normal(2, 7, 10)
    queries, keys, values = (
        F.linear(x, state[f"{name}.weight"]).unflatten(2, (-1, 6)).transpose(1, 2)
        for name in ("W_query", "W_key", "W_value")
    )
    found = F.scaled_dot_product_attention(queries, keys, values, is_causal=True, enable_gqa=True)
    expected = F.linear(found.transpose(1, 2).flatten(2), state["out_proj.weight"])
    held = cached.keys_and_values(x, state, kv)
    for got, right in zip(held, (keys, values), strict=True):
        equal(got, right)
    equal(cached.attention_to_all(x, state, heads, *held), expected)


# --- windows and distances ------------------------------------------------------------------------


@pytest.mark.parametrize("t", [1, 2, 5, 9])
@pytest.mark.parametrize("window", [1, 2, 3, 9, 20])
def test_a_window_is_a_band_of_diagonals(t, window):
    ones = torch.ones(t, t, dtype=torch.bool)
    assert torch.equal(cached.sliding_window(t, window), ones.tril() & ones.triu(1 - window))


# Press, Smith and Lewis 2022, section 3, for 8 and 16 heads; the others as their program gives them.
PUBLISHED = {
    1: [1 / 256],
    2: [1 / 16, 1 / 256],
    4: [1 / 4, 1 / 16, 1 / 64, 1 / 256],
    8: [1 / 2**k for k in range(1, 9)],
    16: [1 / 2 ** (k / 2) for k in range(1, 17)],
    3: [1 / 16, 1 / 256, 1 / 4],
    6: [1 / 4, 1 / 16, 1 / 64, 1 / 256, 1 / 2, 1 / 8],
    7: [1 / 4, 1 / 16, 1 / 64, 1 / 256, 1 / 2, 1 / 8, 1 / 32],
    12: [*(1 / 2**k for k in range(1, 9)), *(1 / 2 ** (k + 0.5) for k in range(4))],
}


@pytest.mark.parametrize("heads", PUBLISHED)
def test_slopes_are_those_that_were_published(heads):
    assert cached.slopes(heads) == pytest.approx(PUBLISHED[heads], rel=1e-15)


@pytest.mark.parametrize("heads", range(1, 70))
def test_slopes_of_any_number_of_heads(heads):
    found = cached.slopes(heads)
    lower = 2 ** math.floor(math.log2(heads))
    assert len(found) == len(set(found)) == heads
    assert found[:lower] == cached.slopes(lower)
    assert found[lower:] == [one for one in cached.slopes(2 * lower) if one not in found[:lower]][: heads - lower]


def test_the_bias_is_minus_slope_times_distance():
    bias = cached.alibi(6, 5)
    assert bias.shape == (6, 5, 5)
    for head, slope in enumerate(cached.slopes(6)):
        for i in range(5):
            assert bias[head, i].tolist() == [-slope * max(i - j, 0) for j in range(5)]
