"""The reference for the language model against torch's own functions, and by hand."""

import math

import pytest
import torch
import torch.nn.functional as F

from autograder.exercises.reference import bigram, qkv


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(0)


def weights(generator, *sizes):
    def normal(*shape):
        return torch.randn(shape, generator=generator, dtype=torch.float64, requires_grad=True)

    return {name: normal(*shape) for name, shape in bigram.shapes(*sizes).items()}


@pytest.mark.parametrize("sizes, b, t", [((11, 6, 7, 3), 2, 5), ((4, 4, 4, 2), 4, 4), ((5, 3, 2, 1), 1, 1)])
def test_it_is_what_torch_computes(generator, sizes, b, t):
    state = weights(generator, *sizes)
    idx, targets = (torch.randint(sizes[0], (b, t), generator=generator) for _ in range(2))
    x = F.embedding(idx, state["token_embedding_table.weight"])
    x = x + F.embedding(torch.arange(t), state["position_embedding_table.weight"])
    found = []
    for head in range(sizes[3]):
        q, k, v = (F.linear(x, state[f"sa_head.heads.{head}.{part}.weight"]) for part in ("query", "key", "value"))
        found.append(F.scaled_dot_product_attention(q, k, v, is_causal=True))
    found = F.linear(torch.cat(found, -1), state["sa_head.proj.weight"], state["sa_head.proj.bias"])
    expected = F.linear(found, state["lm_head.weight"], state["lm_head.bias"])
    mean = F.cross_entropy(expected.flatten(0, 1), targets.flatten())
    got = bigram.logits(idx, state)
    loss = bigram.loss(got, targets)
    assert got.shape == (b, t, sizes[0]) and got.dtype is torch.float64 and loss.shape == ()
    assert torch.allclose(got, expected, rtol=1e-11, atol=1e-12)
    assert torch.allclose(loss, mean, rtol=1e-11)
    wanted = list(state.values())
    one = qkv.gradients([loss], [torch.ones((), dtype=torch.float64)], wanted)
    for got, expected in zip(one, torch.autograd.grad(mean, wanted), strict=True):
        assert torch.allclose(got, expected, rtol=1e-9, atol=1e-12)


def test_the_loss_by_hand():
    logits = torch.tensor([[[0.0, math.log(3.0)], [0.0, 0.0]]])
    expected = (math.log(4 / 3) + math.log(2)) / 2
    assert bigram.loss(logits, torch.tensor([[1, 0]])).item() == pytest.approx(expected)
    assert bigram.loss(torch.tensor([[[1e4, -1e4]]]), torch.tensor([[1]])).item() == pytest.approx(2e4)
