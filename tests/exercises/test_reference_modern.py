"""The references of the modern block against torch's own functions, and against Hugging Face's layers."""

import json
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from autograder.exercises.reference import heads, modern, qkv
from autograder.mistakes.bank import namespace_of, right_answer

NUMBERS = Path(__file__).parent / "transformers_numbers.json"  # made by tests/support/transformers_numbers.py
NEAR = {"rtol": 1e-5, "atol": 1e-5}  # their norms and angles are made in float32


@pytest.fixture
def normal():
    """Random float64 tensors of any shape."""
    generator = torch.Generator().manual_seed(0)
    return lambda *shape: torch.randn(shape, generator=generator, dtype=torch.float64, requires_grad=True)


def equal(got, expected):
    assert got.shape == expected.shape
    assert got.dtype is torch.float64
    assert torch.allclose(got, expected, rtol=1e-11, atol=1e-13)


# --- the norm, the gated network, the rotation ----------------------------------------------------


def equal_with_gradients(got, expected, wanted):
    """Both outputs are equal, and so are the gradients of all that is `wanted` for the same upstream."""
    equal(got, expected)
    upstream = torch.linspace(-1, 2, got.numel(), dtype=torch.float64).view(got.shape)
    given = torch.autograd.grad([expected], wanted, [upstream])
    for one, other in zip(qkv.gradients([got], [upstream], wanted), given, strict=True):
        equal(one, other)


@pytest.mark.parametrize("shape", [(6,), (5, 6), (2, 3, 5, 6)])
@pytest.mark.parametrize("eps", [1e-6, 0.5])
def test_the_norm_is_torchs(normal, shape, eps):
    x, weight = normal(*shape), normal(6)
    equal_with_gradients(modern.rms_norm(x, weight, eps), F.rms_norm(x, (6,), weight, eps), [x, weight])


def test_the_norm_of_a_small_token_depends_on_eps():
    x, ones = torch.full((1, 4), 1e-3), torch.ones(4)
    assert torch.allclose(modern.rms_norm(x, ones), torch.full((1, 4), 0.5, dtype=torch.float64).sqrt())
    equal(modern.rms_norm(torch.zeros(1, 4), ones), torch.zeros(1, 4, dtype=torch.float64))


@pytest.mark.parametrize("shape", [(4,), (5, 4), (2, 3, 5, 4)])
def test_the_gated_network_is_torchs(normal, shape):
    state = {"W_gate.weight": normal(7, 4), "W_up.weight": normal(7, 4), "W_down.weight": normal(4, 7)}
    x = normal(*shape)
    gate, up = (F.linear(x, state[f"{name}.weight"]) for name in ("W_gate", "W_up"))
    expected = F.linear(F.silu(gate) * up, state["W_down.weight"])
    equal_with_gradients(modern.swiglu(x, state), expected, [x, *state.values()])


def test_the_gate_stays_finite_far_out():
    one = torch.ones(1, 1, dtype=torch.float64)
    x = torch.tensor([[-1e4], [-800.0], [800.0]], dtype=torch.float64, requires_grad=True)
    got = modern.swiglu(x, dict.fromkeys(("W_gate.weight", "W_up.weight", "W_down.weight"), one))
    equal(got, F.relu(x).square())
    assert qkv.gradients([got], [torch.ones_like(got)], [x])[0].isfinite().all()


def by_complex_numbers(x, positions, base):
    """The first half of each token is the real part of d/2 numbers, the second the imaginary one; (t,) positions."""
    frequencies = base ** (-torch.arange(0, x.shape[-1], 2, dtype=torch.float64) / x.shape[-1])
    turn = torch.exp(1j * torch.outer(positions.double(), frequencies))
    turned = torch.complex(*x.chunk(2, dim=-1)) * turn
    return torch.cat([turned.real, turned.imag], dim=-1)


@pytest.mark.parametrize("shape", [(5, 6), (2, 5, 6), (2, 3, 5, 8), (2, 2, 3, 5, 2)])
@pytest.mark.parametrize("base", [10000.0, 100.0])
def test_the_rotation_is_that_of_complex_numbers(normal, shape, base):
    x = normal(*shape)
    for positions in (torch.arange(5), torch.tensor([300, -2, 7, 7, 0]), torch.tensor([0.5, 2.0, -1.25, 9.0, 0.0])):
        equal_with_gradients(modern.rope(x, positions, base), by_complex_numbers(x, positions, base), [x])


def test_each_item_has_its_own_positions(normal):
    positions = torch.tensor([[0, 0, 1, 2], [5, 3, 9, 1], [0, 1, 2, 3]])
    for shape in ((3, 4, 6), (3, 3, 4, 6), (3, 2, 3, 4, 6)):
        x = normal(*shape)
        expected = torch.stack([by_complex_numbers(item, own, 100.0) for item, own in zip(x, positions, strict=True)])
        equal_with_gradients(modern.rope(x, positions, 100.0), expected, [x])


def test_a_turned_token_keeps_its_length_and_scores_go_by_distance(normal):
    query, key, positions = normal(5, 8), normal(5, 8), torch.arange(5)
    here, there = (modern.rope(query, positions + by) @ modern.rope(key, positions + by).mT for by in (0, 1000))
    assert torch.allclose(here, there, atol=1e-10)
    equal(modern.rope(query, positions + 7).norm(dim=-1), query.norm(dim=-1))


# --- grouped heads --------------------------------------------------------------------------------


def grouped_weights(normal, d, width, num_heads, num_kv_heads, qk_norm=False):
    state = {"W_query.weight": normal(num_heads * width, d), "out_proj.weight": normal(d, num_heads * width)}
    state |= {f"{name}.weight": normal(num_kv_heads * width, d) for name in ("W_key", "W_value")}
    return state | ({f"{name}.weight": normal(width) for name in ("q_norm", "k_norm")} if qk_norm else {})


def by_torch(x, state, num_heads, num_kv_heads, rope_base=None):
    """The same by torch's functions: complex numbers turn the heads, and `enable_gqa` shares them."""
    query, key, value = (
        F.linear(x, state[f"{name}.weight"]).unflatten(-1, (number, -1)).transpose(1, 2)
        for name, number in (("W_query", num_heads), ("W_key", num_kv_heads), ("W_value", num_kv_heads))
    )
    width = query.shape[-1]
    if "q_norm.weight" in state:
        query = F.rms_norm(query, (width,), state["q_norm.weight"], eps=1e-6)
        key = F.rms_norm(key, (width,), state["k_norm.weight"], eps=1e-6)
    if rope_base is not None:
        frequencies = rope_base ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
        angles = torch.outer(torch.arange(x.shape[1], dtype=torch.float64), frequencies)
        turn = torch.polar(torch.ones_like(angles), angles)
        query, key = (
            torch.cat([turned.real, turned.imag], dim=-1)
            for turned in (torch.complex(*z.chunk(2, dim=-1)) * turn for z in (query, key))
        )
    found = F.scaled_dot_product_attention(query, key, value, is_causal=True, enable_gqa=True)
    return F.linear(found.transpose(1, 2).flatten(2), state["out_proj.weight"])


@pytest.mark.parametrize("num_heads, num_kv_heads", [(4, 4), (4, 2), (4, 1), (6, 3), (6, 2), (1, 1)])
@pytest.mark.parametrize("rope_base", [None, 10000.0, 100.0])
@pytest.mark.parametrize("qk_norm", [False, True])
def test_grouped_heads_are_torchs(normal, num_heads, num_kv_heads, rope_base, qk_norm):
    state, x = grouped_weights(normal, 7, 6, num_heads, num_kv_heads, qk_norm), normal(2, 5, 7)
    got = modern.grouped_attention(x, state, num_heads, num_kv_heads, rope_base)
    expected = by_torch(x, state, num_heads, num_kv_heads, rope_base)
    equal(got, expected)
    upstream, wanted = normal(2, 5, 7), [x, *state.values()]
    for one, other in zip(
        qkv.gradients([got], [upstream], wanted), torch.autograd.grad([expected], wanted, [upstream]), strict=True
    ):
        equal(one, other)


def test_with_a_key_head_for_each_query_head_it_is_multi_head_attention(normal):
    state, x = grouped_weights(normal, 8, 2, 4, 4), normal(2, 5, 8)
    names = {"W_query": "query", "W_key": "key", "W_value": "value", "out_proj": "out"}
    same = {f"{names[name.split('.')[0]]}.weight": w for name, w in state.items()}
    equal(modern.grouped_attention(x, state, 4, 4), heads.multi_head(x, same, 4, is_causal=True))


def test_neighbours_share_a_head(normal):
    state, x = grouped_weights(normal, 8, 2, 4, 2), normal(2, 5, 8)
    copies = {name: w.view(2, 2, 8)[[0, 0, 1, 1]].reshape(8, 8) for name, w in state.items() if w.shape == (4, 8)}
    equal(
        modern.grouped_attention(x, state, 4, 2, 100.0), modern.grouped_attention(x, {**state, **copies}, 4, 4, 100.0)
    )


def test_of_positions_only_the_distance_counts(normal):
    state, x, t = grouped_weights(normal, 8, 4, 2, 1), normal(2, 5, 8), torch.arange(5)
    usual = modern.grouped_attention(x, state, 2, 1, 100.0)
    assert torch.allclose(modern.grouped_attention(x, state, 2, 1, 100.0, t + 1000), usual, atol=1e-10)
    assert not torch.allclose(modern.grouped_attention(x, state, 2, 1, 100.0, 2 * t), usual, atol=1e-2)


# --- the block ------------------------------------------------------------------------------------


def block_weights(normal, d, hidden, num_heads, num_kv_heads):
    attention = grouped_weights(normal, d, d // num_heads, num_heads, num_kv_heads)
    mlp = {"W_gate.weight": normal(hidden, d), "W_up.weight": normal(hidden, d), "W_down.weight": normal(d, hidden)}
    state = {f"attention.{name}": w for name, w in attention.items()} | {f"mlp.{name}": w for name, w in mlp.items()}
    return state | {"attention_norm.weight": normal(d), "mlp_norm.weight": normal(d)}


@pytest.mark.parametrize("rope_base", [None, 10000.0, 100.0])
def test_the_block_is_torchs(normal, rope_base):
    state, x = block_weights(normal, 8, 10, 4, 2), normal(2, 5, 8)
    attention = {name.removeprefix("attention."): w for name, w in state.items() if name.startswith("attention.")}
    y = x + by_torch(F.rms_norm(x, (8,), state["attention_norm.weight"], 1e-6), attention, 4, 2, rope_base)
    z = F.rms_norm(y, (8,), state["mlp_norm.weight"], 1e-6)
    gate, up = (F.linear(z, state[f"mlp.{name}.weight"]) for name in ("W_gate", "W_up"))
    expected = y + F.linear(F.silu(gate) * up, state["mlp.W_down.weight"])
    got = modern.block(x, state, 4, 2, rope_base)
    equal(got, expected)
    upstream, wanted = normal(2, 5, 8), [x, *state.values()]
    for one, other in zip(
        qkv.gradients([got], [upstream], wanted), torch.autograd.grad([expected], wanted, [upstream]), strict=True
    ):
        equal(one, other)


# --- the same as in Hugging Face's package --------------------------------------------------------


@pytest.fixture(scope="module", params=["Llama", "Qwen3"])
def layer(request):
    """A layer's sizes, weights, input and outputs."""
    found = json.loads(NUMBERS.read_text(encoding="utf-8"))[request.param]
    tensors = {name: torch.tensor(found[name], dtype=torch.float64) for name in ("x", "attention", "block")}
    weights = {name: torch.tensor(w, dtype=torch.float64) for name, w in found["weights"].items()}
    return {**found, **tensors, "weights": weights}


def attention_weights(layer):
    weights = layer["weights"].items()
    return {name.removeprefix("attention."): w for name, w in weights if name.startswith("attention.")}


def test_the_attention_is_that_of_transformers(layer):
    sizes = layer["num_heads"], layer["num_kv_heads"]
    got = modern.grouped_attention(layer["x"], attention_weights(layer), *sizes, layer["rope_base"])
    assert torch.allclose(got, layer["attention"], **NEAR)
    assert (layer["attention"][:, 0] - layer["attention"][:, 1]).abs().max() > 0.1


def test_the_block_is_that_of_transformers(layer):
    got = modern.block(layer["x"], layer["weights"], layer["num_heads"], layer["num_kv_heads"], layer["rope_base"])
    assert torch.allclose(got, layer["block"], **NEAR)


def test_the_solution_is_the_attention_of_transformers(layer):
    bases = (right_answer(name) for name in ("RMSNorm", "apply_rope"))
    build = namespace_of("transformers", *bases, right_answer("GroupedQueryAttention"))["GroupedQueryAttention"]
    module = build(
        layer["x"].shape[-1],
        layer["num_heads"],
        layer["num_kv_heads"],
        layer["head_dim"],
        layer["rope_base"],
        qk_norm="attention.q_norm.weight" in layer["weights"],
    ).double()
    module.load_state_dict(attention_weights(layer))
    assert torch.allclose(module(layer["x"]), layer["attention"], **NEAR)


@pytest.mark.parametrize("layer", ["Llama"], indirect=True)  # the other has norms of queries and keys, Block has none
def test_the_solution_is_the_block_of_transformers(layer):
    bases = (right_answer(name) for name in ("RMSNorm", "SwiGLU", "apply_rope", "GroupedQueryAttention"))
    build = namespace_of("transformers", *bases, right_answer("Block"))["Block"]
    sizes = layer["x"].shape[-1], layer["num_heads"], layer["num_kv_heads"], layer["hidden"], layer["rope_base"]
    module = build(*sizes).double()
    module.load_state_dict(layer["weights"])
    assert torch.allclose(module(layer["x"]), layer["block"], **NEAR)
