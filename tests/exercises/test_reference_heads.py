"""The reference for several heads against torch's own layer, and by hand."""

import math

import pytest
import torch

from autograder.exercises.reference import heads, qkv


@pytest.fixture
def normal():
    """Random float64 tensors of any shape."""
    generator = torch.Generator().manual_seed(0)
    return lambda *shape: torch.randn(shape, generator=generator, dtype=torch.float64, requires_grad=True)


def equal(got, expected):
    assert got.shape == expected.shape
    assert got.dtype is torch.float64
    assert torch.allclose(got, expected, rtol=1e-11, atol=1e-13)


def state_of(mha):
    """The weights of an nn.MultiheadAttention in the reference's form."""
    state = {f"{part}.weight": w for part, w in zip(heads.PARTS, mha.in_proj_weight.chunk(3), strict=True)}
    if mha.in_proj_bias is not None:
        state.update({f"{part}.bias": b for part, b in zip(heads.PARTS, mha.in_proj_bias.chunk(3), strict=True)})
        state["out.bias"] = mha.out_proj.bias
    return {**state, "out.weight": mha.out_proj.weight}


@pytest.mark.parametrize("number", [1, 2, 3, 6])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("is_causal", [False, True])
def test_it_is_torchs_layer(normal, number, bias, is_causal):
    mha = torch.nn.MultiheadAttention(6, number, bias=bias, batch_first=True, dtype=torch.float64)
    with torch.no_grad():
        for parameter in mha.parameters():
            parameter.copy_(normal(*parameter.shape))
    x, may_not = normal(2, 5, 6), torch.ones(5, 5, dtype=torch.bool).triu(1) if is_causal else None
    expected, _ = mha(x, x, x, attn_mask=may_not, need_weights=False)
    got = heads.multi_head(x, state_of(mha), number, is_causal)
    equal(got, expected)
    upstream, wanted = normal(2, 5, 6), [x, *mha.parameters()]
    for one, other in zip(
        qkv.gradients([got], [upstream], wanted), torch.autograd.grad([expected], wanted, [upstream]), strict=True
    ):
        equal(one, other)


def test_wide_heads_are_single_heads_side_by_side(normal):
    state = {f"{part}.weight": normal(8, 4) for part in heads.PARTS}
    x = normal(3, 5, 4)
    found = []
    for rows in (slice(0, 4), slice(4, 8)):
        q, k, v = (x @ state[f"{part}.weight"][rows].T for part in heads.PARTS)
        found.append((q @ k.mT / 2).softmax(-1) @ v)
    out, bias = normal(4, 8), normal(4)
    expected = torch.cat(found, -1) @ out.T + bias
    equal(heads.multi_head(x, {**state, "out.weight": out, "out.bias": bias}, 2), expected)


def test_the_mask_is_the_lower_triangle():
    assert heads.causal(3).tolist() == [[True, False, False], [True, True, False], [True, True, True]]


def test_by_hand():
    # Two heads of one feature. Token 1 has the scores 0 and 1 in head 0, and 0 and ln 3 in head 1.
    state = {
        "query.weight": torch.tensor([[1.0], [math.log(3)]]),
        "key.weight": torch.tensor([[1.0], [1.0]]),
        "value.weight": torch.tensor([[10.0], [4.0]]),
        "out.weight": torch.tensor([[1.0, 0.0], [0.0, 1.0]]),
    }
    got = heads.multi_head(torch.tensor([[0.0], [1.0]]), state, 2, is_causal=True)
    expected = torch.tensor([[0.0, 0.0], [10 * math.e / (1 + math.e), 3.0]], dtype=torch.float64)
    assert torch.allclose(got, expected, atol=1e-6)


def test_largest_score(normal):
    state, x = {f"{part}.weight": normal(8, 3) for part in heads.PARTS}, normal(5, 3)
    q, k = ((x @ state[f"{part}.weight"].T).view(5, 2, 4).transpose(0, 1) for part in ("query", "key"))
    assert heads.largest_score(x, state, 2) == pytest.approx((q @ k.mT / 2).abs().max().item())


@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.parametrize("masked", [False, True])
def test_with_a_context_it_is_torchs_layer(normal, number, masked):
    mha = torch.nn.MultiheadAttention(6, number, kdim=4, vdim=4, batch_first=True, dtype=torch.float64)
    layers = mha.q_proj_weight, mha.k_proj_weight, mha.v_proj_weight
    with torch.no_grad():
        for parameter in mha.parameters():
            parameter.copy_(normal(*parameter.shape))
    state = {f"{part}.weight": w for part, w in zip(heads.PARTS, layers, strict=True)}
    state.update({f"{part}.bias": b for part, b in zip(heads.PARTS, mha.in_proj_bias.chunk(3), strict=True)})
    state.update({"out.weight": mha.out_proj.weight, "out.bias": mha.out_proj.bias})
    x, context = normal(2, 5, 6), normal(2, 3, 4)
    mask = torch.tensor([[True, False, True], [False, False, True]]) if masked else None
    ignored = ~mask if masked else None  # torch's polarity: True = ignore
    expected, _ = mha(x, context, context, key_padding_mask=ignored, need_weights=False)
    got = heads.multi_head(x, state, number, context=context, context_mask=mask)
    equal(got, expected)
    upstream, wanted = normal(2, 5, 6), [x, context, *mha.parameters()]
    for one, other in zip(
        qkv.gradients([got], [upstream], wanted), torch.autograd.grad([expected], wanted, [upstream]), strict=True
    ):
        equal(one, other)


def test_one_head_without_a_projection_is_torchs_function(normal):
    state = {"query.weight": normal(4, 6), "key.weight": normal(4, 3), "value.weight": normal(4, 3)}
    x, context = normal(2, 5, 6), normal(2, 7, 3)
    mask = torch.ones(2, 7, dtype=torch.bool)
    mask[0, 4:] = False
    q, k, v = (z @ w.T for z, w in zip((x, context, context), state.values(), strict=True))
    expected = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None, :])
    equal(heads.multi_head(x, state, 1, context=context, context_mask=mask), expected)


def test_a_context_with_nothing_to_attend_to_leaves_the_bias(normal):
    state = {f"{part}.weight": normal(4, 3) for part in heads.PARTS}
    state.update({f"{part}.bias": normal(4) for part in heads.PARTS})
    state.update({"out.weight": normal(4, 4), "out.bias": normal(4)})
    x, context, mask = normal(2, 5, 3), normal(2, 7, 3), torch.ones(2, 7, dtype=torch.bool)
    mask[1] = False
    got = heads.multi_head(x, state, 2, context=context, context_mask=mask)
    equal(got[1], state["out.bias"].expand(5, 4))
    equal(got[:1], heads.multi_head(x[:1], state, 2, context=context[:1]))
    equal(heads.multi_head(x, state, 2, context=context[:, :0]), state["out.bias"].expand(2, 5, 4))
    found = qkv.gradients([got], [normal(2, 5, 4)], [x, context, *state.values()])
    assert all(g.isfinite().all() for g in found)
    assert found[1][1].count_nonzero() == 0


def test_the_context_of_self_attention_is_the_input(normal):
    state, x = {f"{part}.weight": normal(8, 3) for part in heads.PARTS}, normal(2, 5, 3)
    equal(heads.multi_head(x, state, 2, context=x), heads.multi_head(x, state, 2))
    other = normal(2, 4, 3)
    q, k = (z @ state[f"{part}.weight"].T for z, part in ((x, "query"), (other, "key")))
    scores = [a @ b.mT / 2 for a, b in zip(q.chunk(2, -1), k.chunk(2, -1), strict=True)]
    assert heads.largest_score(x, state, 2, other) == pytest.approx(torch.stack(scores).abs().max().item())
