"""The reference of a language model's parts against torch's own, the stubs, and by hand."""

import math

import pytest
import torch
import torch.nn.functional as F

from autograder.exercises.reference import language
from autograder.sandbox.inside import stubs


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(0)


def test_characters_are_sorted_by_code_point():
    assert language.vocabulary("banana B\né") == ["\n", " ", "B", "a", "b", "n", "é"]


def test_blocks_by_hand():
    inputs, targets = language.blocks(torch.tensor([7, 8, 9, 4, 5]), 3)
    assert inputs.tolist() == [[7, 8, 9], [8, 9, 4]]
    assert targets.tolist() == [[8, 9, 4], [9, 4, 5]]


@pytest.mark.parametrize("t", [1, 3, 4, 9])
def test_rolled_sums_and_continuations_are_the_stubs(generator, t):
    weights, v = [3, 1, 4, 2], 7
    model = stubs.Rolled([60.0, 0, 0, 0, 0, 0, 0], weights).eval()
    idx = torch.randint(v, (5, t), generator=generator)
    right = idx
    for _ in range(6):
        logits, _ = model(right[:, -4:])
        assert torch.equal(language.rolled_sum(right, weights, v), logits[:, -1].argmax(-1))
        right = torch.cat([right, logits[:, -1].argmax(-1, keepdim=True)], dim=1)
    assert torch.equal(language.continued(idx, weights, v, 6), right)
    assert torch.equal(language.continued(idx, weights, v, 0), idx)


def test_a_sum_by_hand():
    # the last token counts once, the one before it three times: 4 + 3 · 2 = 10 = 3 (mod 7)
    assert language.rolled_sum(torch.tensor([[6, 2, 4]]), [1, 3], 7).tolist() == [3]
    assert language.continued(torch.tensor([[2, 4]]), [1, 3], 7, 2).tolist() == [[2, 4, 3, 1]]


@pytest.mark.parametrize("memory", [1, 2, 3])
def test_window_is_the_stub(generator, memory):
    model = stubs.Window(5, 6, memory, width=3, n_hidden=4, in_train=0.5).double().eval()
    idx, targets = (torch.randint(5, (3, 6), generator=generator) for _ in range(2))
    state = dict(model.named_parameters())
    logits, loss = model(idx, targets)
    found = language.window_logits(idx, state, memory)
    assert torch.allclose(found, logits, rtol=1e-12, atol=1e-14)
    assert torch.allclose(language.losses(found, targets).mean(), loss, rtol=1e-12)
    assert torch.allclose(model.train()(idx)[0], logits / 2, rtol=1e-12)


def test_table_is_the_stub(generator):
    model = stubs.Table(5, 6, in_train=0.5).double().eval()
    idx, targets = (torch.randint(5, (3, 6), generator=generator) for _ in range(2))
    logits, loss = model(idx, targets)
    found = language.table_logits(idx, dict(model.named_parameters()))
    assert torch.equal(found, logits)
    assert torch.allclose(language.losses(found, targets).mean(), loss, rtol=1e-12)
    assert torch.equal(model.train()(idx)[0], logits / 2)


def test_losses_are_torchs(generator):
    logits = torch.randn(2, 5, 7, generator=generator, dtype=torch.float64) * 5
    targets = torch.randint(7, (2, 5), generator=generator)
    right = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none").view(2, 5)
    assert torch.allclose(language.losses(logits, targets), right, rtol=1e-12)


@pytest.mark.parametrize(("rates", "max_norm"), [([0.05] * 12, math.inf), ([0.01 * (i + 1) for i in range(12)], 0.05)])
def test_adamw_is_torchs(generator, rates, max_norm):
    model = stubs.Window(5, 6, 2, width=3, n_hidden=4).double()
    idx, targets = (torch.randint(4, (3, 6), generator=generator) for _ in range(2))
    start = {name: p.detach().clone() for name, p in model.named_parameters()}
    losses, state = language.adamw(
        start, lambda s: language.losses(language.window_logits(idx, s, 2), targets).mean(), rates, max_norm
    )
    optimizer, seen, lengths = torch.optim.AdamW(model.parameters()), [], []
    for rate in rates:
        _, loss = model(idx, targets)
        optimizer.zero_grad()
        loss.backward()
        gradients = language.clipped([parameter.grad for parameter in model.parameters()], max_norm)
        lengths.append(torch.cat([p.grad.flatten() for p in model.parameters()]).norm().item())
        for parameter, gradient in zip(model.parameters(), gradients, strict=True):
            parameter.grad = gradient
        optimizer.param_groups[0]["lr"] = rate
        optimizer.step()
        seen.append(loss.item())
    assert losses == pytest.approx(seen, rel=1e-10)
    assert max_norm == math.inf or max(lengths) > max_norm  # or nothing would be clipped
    for name, parameter in model.named_parameters():
        assert torch.allclose(state[name], parameter, rtol=1e-8, atol=1e-12)
        assert not torch.equal(start[name], state[name])


def test_a_made_text_keeps_its_rule(generator):
    text = language.made_text(20_000, 4, 0.2, generator)
    next_of = [text[3:][text[:-3] == c].bincount(minlength=4) for c in range(4)]
    assert sorted(int(count.argmax()) for count in next_of) == [0, 1, 2, 3]
    for count in next_of:
        assert count.max() / count.sum() == pytest.approx(0.85, abs=0.02)


def test_entropies(generator):
    text = language.made_text(20_000, 4, 0.2, generator)
    assert language.full_loss(4, 0.2, 3) == pytest.approx(
        (2 * math.log(4) - 0.85 * math.log(0.85) - 0.15 * math.log(0.05)) / 3
    )
    assert language.full_loss(4, 1.0, 8) == pytest.approx(math.log(4))
    assert language.bigram_loss(text, 4) == pytest.approx(math.log(4), abs=0.01)
    assert language.bigram_loss(torch.tensor([0, 1] * 50), 2) == 0
    # of four pairs, 0 is followed by 0 once in three
    assert language.bigram_loss(torch.tensor([0, 0, 1, 0, 1]), 2) == pytest.approx(
        -(math.log(1 / 3) + 2 * math.log(2 / 3)) / 4
    )
