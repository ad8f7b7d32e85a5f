"""The reference for causal attention against torch's own functions, and against what notebook 003 prints."""

import pytest
import torch
import torch.nn.functional as F

from autograder.exercises.reference import causal, qkv

NAMES = ("q", "k", "v")
PADDING = torch.tensor([[1, 1, 1, 0, 0], [0, 1, 1, 0, 1]]).bool()


@pytest.fixture
def normal():
    """Random float64 tensors of any shape."""
    generator = torch.Generator().manual_seed(0)
    return lambda *shape: torch.randn(shape, generator=generator, dtype=torch.float64, requires_grad=True)


def equal(got, expected):
    assert got.shape == expected.shape
    assert got.dtype is torch.float64
    assert torch.allclose(got, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("t", [0, 1, 2, 7])
def test_causal_mask(t):
    assert torch.equal(causal.causal_mask(t), torch.ones(t, t, dtype=torch.bool).tril())


def test_padding_mask():
    lengths = torch.tensor([3, 0, 4])
    expected = torch.arange(6) < lengths[:, None]
    assert torch.equal(causal.padding_mask(lengths, 6), expected)
    assert torch.equal(causal.padding_mask(lengths), expected[:, :4])
    assert causal.padding_mask(torch.zeros(2, dtype=torch.int64)).shape == (2, 0)


def test_the_table_of_003():
    state = torch.random.get_rng_state()
    weights = causal.masked_weights(*causal.drawn_by_003())
    assert torch.equal(torch.random.get_rng_state(), state), "torch's own generator is left alone"
    assert (weights[0] - causal.PRINTED_003).abs().max() < 6e-5
    assert weights[0, 7, 7].item() == pytest.approx(0.2391, abs=6e-5)


def test_masked_weights_are_what_torch_computes(normal):
    query, key = normal(2, 5, 4), normal(2, 5, 4)
    identity = torch.eye(5, dtype=torch.float64).expand(2, 5, 5)
    expected = F.scaled_dot_product_attention(query, key, identity, is_causal=True, scale=1.0)
    equal(causal.masked_weights(query, key), expected)
    upstream = normal(2, 5, 5)
    found = qkv.gradients([causal.masked_weights(query, key)], [upstream], [query, key])
    for one, other in zip(found, torch.autograd.grad([expected], [query, key], [upstream]), strict=True):
        equal(one, other)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("padded", [False, True])
def test_head_is_what_torch_computes(normal, bias, padded):
    state = {f"{n}.weight": normal(4, 3) for n in NAMES}
    if bias:
        state.update({f"{n}.bias": normal(4) for n in NAMES})
    x, padding = normal(2, 5, 3), PADDING if padded else None
    q, k, v = (F.linear(x, state[f"{n}.weight"], state.get(f"{n}.bias")) for n in NAMES)
    allowed = torch.ones(5, 5, dtype=torch.bool).tril().expand(2, 5, 5)
    allowed = allowed if padding is None else allowed & padding[:, None]
    expected = F.scaled_dot_product_attention(q, k, v, attn_mask=allowed)
    output, weights = causal.head(x, state, NAMES, padding)
    equal(output, expected)
    assert not weights[~allowed].any()
    wanted, upstream = [x, *state.values()], normal(2, 5, 4)
    found = qkv.gradients([output], [upstream], wanted)
    for one, other in zip(found, qkv.gradients([expected], [upstream], wanted), strict=True):
        equal(one, other)
    if padded:
        assert not output[1, 0].any(), "nothing is left to attend to"
    assert all(g.isfinite().all() for g in found)


def test_head_without_a_mask_in_the_last_row(normal):
    """The last token sees everything: there the causal head is the plain one."""
    state, x = {f"{n}.weight": normal(4, 3) for n in NAMES}, normal(2, 5, 3)
    equal(causal.head(x, state, NAMES)[0][:, -1], qkv.head(x, state, NAMES)[:, -1])
