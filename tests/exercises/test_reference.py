"""The reference against torch's own functions and against numbers worked out by hand."""

import math

import pytest
import torch
import torch.nn.functional as F

from autograder.exercises.reference import qkv

NAMES = ("q", "k", "v")


@pytest.fixture
def normal():
    """Random float64 tensors of any shape."""
    generator = torch.Generator().manual_seed(0)
    return lambda *shape: torch.randn(shape, generator=generator, dtype=torch.float64, requires_grad=True)


@pytest.fixture
def mask():
    """A mask of (5, 7) with something to attend to in every row."""
    mask = torch.rand(5, 7, generator=torch.Generator().manual_seed(0)) < 0.5
    mask[:, 3] = True
    return mask


def equal(got, expected):
    assert got.shape == expected.shape
    assert got.dtype is torch.float64
    assert torch.allclose(got, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("leading", [(), (2,), (2, 3)])
@pytest.mark.parametrize("masked", [False, True])
def test_attention_is_what_torch_computes(normal, mask, leading, masked):
    query, key, value = normal(*leading, 5, 4), normal(*leading, 7, 4), normal(*leading, 7, 6)
    mask = mask if masked else None
    output, weights = qkv.attention(query, key, value, mask)
    expected = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    equal(output, expected)
    equal(weights, F.scaled_dot_product_attention(query, key, torch.eye(7).double().expand(*leading, 7, 7), mask))
    upstream = normal(*output.shape)
    given = (query, key, value)
    for one, other in zip(
        qkv.gradients([output], [upstream], given), torch.autograd.grad([expected], given, [upstream]), strict=True
    ):
        equal(one, other)


@pytest.mark.parametrize("form", [(7,), (1, 7), (5, 1), (2, 1, 7), (1, 1)])
def test_masks_broadcast(normal, form):
    query, key, value = normal(2, 5, 4), normal(2, 7, 4), normal(2, 7, 6)
    mask = torch.ones(form, dtype=torch.bool)
    if form[-1] == 7:
        mask[..., 2] = False
    expected = F.scaled_dot_product_attention(query, key, value, attn_mask=mask.expand(2, 5, 7))
    equal(qkv.attention(query, key, value, mask)[0], expected)


def test_attention_by_hand():
    # The scores are 2 ln 3 / √4 = ln 3 and 0, so the weights are 3/4 and 1/4, and the output is 3/4·4 + 1/4·8 = 5.
    query, key = torch.tensor([[2.0, 0, 0, 0]]), torch.tensor([[math.log(3), 0, 0, 0], [0, 0, 0, 0]])
    output, weights = qkv.attention(query, key, torch.tensor([[4.0], [8.0]]))
    assert torch.allclose(weights, torch.tensor([[0.75, 0.25]]).double(), atol=1e-7)
    assert torch.allclose(output, torch.tensor([[5.0]]).double(), atol=1e-6)


def test_a_row_that_sees_nothing_is_zero_and_has_finite_gradients(normal, mask):
    query, key, value = normal(2, 5, 4), normal(2, 7, 4), normal(2, 7, 6)
    mask[1] = False
    output, weights = qkv.attention(query, key, value, mask)
    assert (output[:, 1] == 0).all() and (weights[:, 1] == 0).all()
    found = qkv.gradients([output, weights], [normal(2, 5, 6), normal(2, 5, 7)], (query, key, value))
    assert all(g.isfinite().all() for g in found)
    assert (found[0][:, 1] == 0).all() and found[0][:, 0].abs().max() > 0


def test_gradients_are_those_of_finite_differences(normal, mask):
    mask[1] = False
    assert torch.autograd.gradcheck(
        lambda *given: qkv.attention(*given, mask), (normal(5, 2), normal(7, 2), normal(7, 3))
    )


def test_an_empty_context_gives_zero(normal):
    output, weights = qkv.attention(normal(2, 5, 4), normal(2, 0, 4), normal(2, 0, 6))
    assert weights.shape == (2, 5, 0)
    equal(output, torch.zeros(2, 5, 6).double())


def test_extreme_scores(normal):
    query, key = normal(5, 4) * 1e4, normal(7, 4)
    weights = qkv.attention(query, key, normal(7, 6))[1]
    equal(weights, (query @ key.mT / 2).softmax(-1))


@pytest.mark.parametrize("bias", [False, True])
def test_head_is_torchs_multihead_attention_with_one_head(normal, bias):
    mha = torch.nn.MultiheadAttention(4, 1, bias=bias, batch_first=True, dtype=torch.float64)
    with torch.no_grad():
        mha.out_proj.weight.copy_(torch.eye(4))
        if bias:
            mha.in_proj_bias.copy_(normal(12))
    parts = {"weight": mha.in_proj_weight.chunk(3)}
    if bias:
        parts["bias"] = mha.in_proj_bias.chunk(3)
    state = {f"{name}.{part}": p for part, chunks in parts.items() for name, p in zip(NAMES, chunks, strict=True)}
    x = normal(2, 5, 4)
    equal(qkv.head(x, state, NAMES), mha(x, x, x, need_weights=False)[0])


def test_head_by_hand():
    # One feature: token 0 has the scores 0 and 0, token 1 has 0 and 1; the values are 0 and 10.
    state = {"q.weight": torch.ones(1, 1), "k.weight": torch.ones(1, 1), "v.weight": torch.full((1, 1), 10.0)}
    expected = torch.tensor([[5.0], [10 * math.e / (1 + math.e)]], dtype=torch.float64)
    equal(qkv.head(torch.tensor([[0.0], [1.0]]), state, NAMES), expected)


def test_largest_score(normal):
    state, x = {"q.weight": normal(4, 3), "k.weight": normal(4, 3)}, normal(5, 3)
    scores = (x @ state["q.weight"].T) @ (x @ state["k.weight"].T).T / 2
    assert qkv.largest_score(x, state, ("q", "k", "v")) == pytest.approx(scores.abs().max().item())
