"""The reference of attention to long texts, against torch's own functions, Hugging Face's numbers and identities."""

import json
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention.flex_attention import flex_attention

from autograder.exercises.reference import long, qkv
from autograder.exercises.reference.heads import causal

INF = float("inf")
NUMBERS = Path(__file__).parent / "transformers_numbers.json"
B, H, T, S, D, DV = 2, 3, 5, 7, 4, 6


@pytest.fixture
def normal():
    generator = torch.Generator().manual_seed(0)
    return lambda *shape: torch.randn(shape, generator=generator, dtype=torch.float64, requires_grad=True)


def equal(got, expected):
    assert torch.allclose(got, expected, rtol=1e-11, atol=1e-13)


def same_gradients(got, expected, upstream, wanted):
    for one, other in zip(
        torch.autograd.grad(got, wanted, upstream), torch.autograd.grad(expected, wanted, upstream), strict=True
    ):
        equal(one, other)


def given(normal, *leading):
    return normal(*leading, T, D), normal(*leading, S, D), normal(*leading, S, DV)


# --- capped scores --------------------------------------------------------------------------------


@pytest.mark.parametrize("cap", [0.5, 3.0, 50.0])
def test_a_cap_is_that_of_flex_attention(normal, cap):
    query, key, value = (x.detach() for x in given(normal, B, H))
    mask = torch.rand(T, S, generator=torch.Generator().manual_seed(1)) < 0.7
    mask[:, 0] = True

    def capped(score, b, h, q, k):
        return torch.where(mask[q, k], cap * torch.tanh(score / cap), -INF)

    expected = flex_attention(3 * query, key, value, score_mod=capped)
    equal(long.capped_attention(3 * query, key, value, cap, mask)[0], expected)


def test_a_large_cap_is_no_cap(normal):
    query, key, value = given(normal, B)
    output, weights = long.capped_attention(query, key, value, 1e6)
    assert torch.allclose(output, F.scaled_dot_product_attention(query, key, value), rtol=1e-9)
    equal(weights.sum(-1), torch.ones(B, T, dtype=torch.float64))


def test_capped_weights_differ_by_a_bounded_factor(normal):
    _, weights = long.capped_attention(*given(normal, B), 0.25)
    _, extreme = long.capped_attention(*[1e3 * x for x in given(normal, B)], 0.25)
    bound = torch.tensor(0.5, dtype=torch.float64).exp()
    for one in (weights, extreme):
        assert (one.amax(-1) / one.amin(-1) <= bound * (1 + 1e-12)).all()


# --- a sink ---------------------------------------------------------------------------------------


def test_a_sink_is_a_key_without_a_value(normal):
    (query, key, value), sink = given(normal, B, H), normal(H)
    mask = torch.rand(B, 1, T, S, generator=torch.Generator().manual_seed(1)) < 0.7
    scores = (query @ key.mT / D**0.5).masked_fill(~mask, -INF)
    column = sink[None, :, None, None].expand(B, H, T, 1)
    expected = torch.cat([scores, column], dim=-1).softmax(dim=-1) @ torch.cat([value, 0 * value[..., :1, :]], dim=-2)
    output, weights = long.sink_attention(query, key, value, sink, mask)
    equal(output, expected)
    assert (weights.sum(-1) < 1).all()
    same_gradients(output, expected, normal(B, H, T, DV).detach(), (query, key, value, sink))


def test_a_sink_is_a_sigmoid_of_the_lse(normal):
    (query, key, value), sink = given(normal, B, H), normal(H)
    lse = (query @ key.mT / D**0.5).logsumexp(dim=-1)
    share = torch.sigmoid(lse - sink[:, None])
    output, _ = long.sink_attention(query, key, value, sink)
    equal(output, share[..., None] * F.scaled_dot_product_attention(query, key, value))


def test_a_sink_is_that_of_gpt_oss():
    """Against the numbers that Hugging Face's layer gives, after projection, rotation and repeated heads."""
    numbers = json.loads(NUMBERS.read_text(encoding="utf-8"))["GptOss"]
    mask = torch.tensor(numbers.pop("mask"))
    query, key, value, sink, output, weights = (
        torch.tensor(numbers[name], dtype=torch.float64)
        for name in ("query", "key", "value", "sink", "output", "weights")
    )
    got = long.sink_attention(query, key, value, sink, mask)
    for one, expected in zip(got, (output, weights), strict=True):
        assert torch.allclose(one, expected, rtol=0, atol=1e-7)


def test_a_query_that_sees_the_sink_alone(normal):
    (query, key, value), sink = given(normal, B, H), normal(H)
    mask = torch.ones(T, S, dtype=torch.bool)
    mask[2] = False
    output, weights = long.sink_attention(query, key, value, sink, mask)
    assert not output[:, :, 2].any() and not weights[:, :, 2].any()
    assert all(g.isfinite().all() for g in torch.autograd.grad(output.sum(), (query, key, value, sink)))


# --- merged parts ---------------------------------------------------------------------------------


def test_two_halves_are_the_whole(normal):
    query, key, value = given(normal, B, H)
    parts = [long.part(query, key[..., some, :], value[..., some, :]) for some in (slice(0, 3), slice(3, S))]
    output, lse = long.merge(*parts[0], *parts[1])
    expected = F.scaled_dot_product_attention(query, key, value)
    equal(output, expected)
    equal(lse, (query @ key.mT / D**0.5).logsumexp(dim=-1))
    equal(lse, torch.logaddexp(parts[0][1], parts[1][1]))
    same_gradients(output, expected, normal(B, H, T, DV).detach(), (query, key, value))


def test_an_empty_part_changes_nothing(normal):
    query, key, value = given(normal, B)
    one, none = long.part(query, key, value), long.part(query, key[:, :0], value[:, :0])
    assert (none[1] == -INF).all() and not none[0].any()
    for output, lse in (long.merge(*one, *none), long.merge(*none, *one)):
        equal(output, one[0])
        equal(lse, one[1])
    output, lse = long.merge(*none, *none)
    assert not output.any() and (lse == -INF).all()


def test_gradients_beside_an_empty_part_are_finite(normal):
    outputs, lses = [normal(3, DV), normal(3, DV)], [normal(3).detach(), normal(3).detach()]
    lses[0][1:] = -INF
    lses[1][2:] = -INF
    lses = [lse.requires_grad_() for lse in lses]
    output, lse = long.merge(outputs[0], lses[0], outputs[1], lses[1])
    found = torch.autograd.grad([output, lse], [*outputs, *lses], [normal(3, DV).detach(), torch.ones(3).double()])
    assert all(g.isfinite().all() for g in found)
    assert not found[0][1:].any() and found[3][1] == 1 and found[2][1] == 0 and found[3][2] == 0


# --- latent vectors -------------------------------------------------------------------------------


def test_latent_attention_is_torchs_with_keys_and_values_of_low_rank(normal):
    d_model, width, latent = H * 4, 4, 5
    state = {
        "W_query.weight": normal(H * width, d_model).detach(),
        "W_down.weight": normal(latent, d_model).detach(),
        "W_up_key.weight": normal(H * width, latent).detach(),
        "W_up_value.weight": normal(H * width, latent).detach(),
        "out_proj.weight": normal(d_model, H * width).detach(),
    }
    x = normal(B, T, d_model).detach()
    torchs = nn.MultiheadAttention(d_model, H, bias=False, batch_first=True, dtype=torch.float64)
    down = state["W_down.weight"]
    rows = [state["W_query.weight"], state["W_up_key.weight"] @ down, state["W_up_value.weight"] @ down]
    torchs.load_state_dict({"in_proj_weight": torch.cat(rows), "out_proj.weight": state["out_proj.weight"]})
    expected, _ = torchs(x, x, x, attn_mask=~causal(T), need_weights=False)
    equal(long.latent_attention(x, state, H), expected)


def test_attention_in_tiles_has_torchs_as_its_reference(normal):
    query, key, value = normal(B, H, T, D), normal(B, H, T, D), normal(B, H, T, DV)
    for is_causal in (False, True):
        expected = F.scaled_dot_product_attention(query, key, value, is_causal=is_causal)
        equal(qkv.attention(query, key, value, causal(T) if is_causal else None)[0], expected)
