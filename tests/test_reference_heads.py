"""The reference for several heads against torch's own layer, and by hand."""

import math

import pytest
import torch

from autograder.reference import heads, qkv


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
    state = {f"{part}.weight": w for part, w in zip(heads.PARTS, mha.in_proj_weight.chunk(3))}
    if mha.in_proj_bias is not None:
        state.update({f"{part}.bias": b for part, b in zip(heads.PARTS, mha.in_proj_bias.chunk(3))})
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
        qkv.gradients([got], [upstream], wanted), torch.autograd.grad([expected], wanted, [upstream])
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
