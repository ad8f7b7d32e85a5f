"""The reference of attention without parameters, against torch's own functions and the tables of notebook 004."""

import math

import pytest
import torch
import torch.nn.functional as F

from autograder.exercises.reference import plain

INF = float("inf")
# As notebook 004 prints it, from a softmax over dim=0: the columns of the weights sum to 1.
PRINTED = [
    [0.4874, 0.1526, 0.1296, 0.2335, 0.0755, 0.1214],
    [0.2555, 0.4071, 0.2553, 0.5744, 0.1466, 0.1734],
    [0.2250, 0.1471, 0.1666, 0.2633, 0.0763, 0.2476],
    [0.2502, 0.2930, 0.4736, 0.6419, 0.1536, 0.3486],
    [0.4788, 0.1518, 0.1279, 0.2316, 0.0748, 0.1208],
    [0.2545, 0.3719, 0.2433, 0.5327, 0.1371, 0.1700],
    [0.2449, 0.2792, 0.4173, 0.5992, 0.1541, 0.2438],
    [0.4828, 0.1514, 0.1292, 0.2325, 0.0753, 0.1213],
    [0.2410, 0.2459, 0.2272, 0.5311, 0.2567, 0.1630],
]


@pytest.fixture
def normal():
    generator = torch.Generator().manual_seed(0)
    return lambda *shape: torch.randn(shape, generator=generator, dtype=torch.float64, requires_grad=True)


def equal(got, expected):
    assert got.dtype is torch.float64
    assert torch.allclose(got, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("dim", [0, 1, 2, -1, -2])
def test_softmax_is_torchs(normal, dim):
    scores, upstream = normal(2, 3, 5), normal(2, 3, 5)
    got, expected = plain.softmax(scores, dim), scores.softmax(dim)
    equal(got, expected)
    equal(torch.autograd.grad(got, scores, upstream)[0], torch.autograd.grad(expected, scores, upstream)[0])
    equal(plain.softmax(1e4 * scores, dim), (1e4 * scores).softmax(dim))


def test_softmax_with_minus_infinity(normal):
    scores = normal(4, 5).detach()
    scores[1, 2] = scores[3, 0] = -INF
    equal(plain.softmax(scores), scores.softmax(-1))
    scores[2] = -INF
    leaf = scores.clone().requires_grad_()
    got = plain.softmax(leaf)
    assert (got[2] == 0).all()
    equal(got[[0, 1, 3]], scores[[0, 1, 3]].softmax(-1))
    got.backward(normal(4, 5).detach())
    assert leaf.grad.isfinite().all() and (leaf.grad[2] == 0).all() and leaf.grad[1, 2] == 0


@pytest.mark.parametrize("size", [(5, 3), (2, 5, 3), (4, 4, 4), (1, 1, 1)])
@pytest.mark.parametrize("scaled", [False, True])
def test_self_attention_is_torchs(normal, size, scaled):
    x, upstream = normal(*size), normal(*size)
    got = plain.self_attention(x, scaled)
    expected = F.scaled_dot_product_attention(x, x, x, scale=None if scaled else 1.0)
    equal(got, expected)
    equal(torch.autograd.grad(got, x, upstream)[0], torch.autograd.grad(expected, x, upstream)[0])
    scores = x @ x.mT / (size[-1] ** 0.5 if scaled else 1.0)
    assert plain.largest_score(x, scaled) == pytest.approx(scores.abs().max().item())


def test_the_tables_of_notebook_004_to_four_decimals():
    x = torch.tensor(plain.SENTENCE)
    assert torch.allclose((x @ x.T).softmax(0) @ x, torch.tensor(PRINTED), rtol=0, atol=5.1e-5)
    first = torch.tensor([0.4877, 0.1943, 0.1817, 0.3150, 0.0941, 0.1339]).double()
    assert torch.allclose(plain.self_attention(x)[0], first, rtol=0, atol=5.1e-5)


def test_the_length_of_a_constant_vector():
    assert plain.constant_vector_length(3.0, 4) == 6.0
    assert plain.constant_vector_length(-3, 4) == 6.0
    assert plain.constant_vector_length(0.5, 7) == pytest.approx(0.5 * math.sqrt(7))
