"""The first step of attention that is wrong, read off small calls."""

from dataclasses import replace

import pytest
import torch

from autograder import course
from autograder.checks.api import CheckFailed
from autograder.checks.runner import ExerciseRun, Graders
from autograder.checks.steps import Case, first_wrong
from autograder.mistakes.bank import bank
from autograder.mistakes.hypotheses import right

VALUES = torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
SCORES = torch.randn(2, 3, 3, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
CAUSAL = torch.ones(3, 3).tril().bool()


def of(weights, expected):
    """A case in which the values are mixed by these weights."""
    return lambda: Case((weights @ VALUES).float(), expected @ VALUES, VALUES)


EVEN = torch.full((2, 3, 3), 1 / 3, dtype=torch.float64)
SEEN = SCORES.masked_fill(~CAUSAL, -torch.inf).softmax(-1)


@pytest.mark.parametrize(
    "weights, expected, step",
    [
        (SCORES.softmax(-1), SCORES.softmax(-1), None),
        ((2 * SCORES).softmax(-1), SCORES.softmax(-1), "scale"),
        (SCORES.softmax(-2), SCORES.softmax(-1), "softmax"),
        (SCORES, SCORES.softmax(-1), "softmax"),
        ((SCORES**2).softmax(-1), SCORES.softmax(-1), "scores"),
        ((-SCORES).softmax(-1), SCORES.softmax(-1), "scores"),
        (SCORES.softmax(-1), SEEN, "mask"),
        (SCORES.softmax(-1).flip(-1), SCORES.softmax(-1), "order"),
        (SEEN.flip(-1), SEEN, "order"),
        (SCORES.softmax(-1).flip(-2), SCORES.softmax(-1), "scores"),
        (SEEN.exp() - SEEN.exp().sum(-1, keepdim=True), SEEN, "softmax"),
    ],
)
def test_weights_are_read_off_the_output(weights, expected, step):
    found = first_wrong(of(EVEN, EVEN), of(weights, expected))
    assert (found and found.name) == step


def test_the_scale_is_told():
    assert "1.5 times" in first_wrong(of(EVEN, EVEN), of((1.5 * SCORES).softmax(-1), SCORES.softmax(-1))).says


def test_steps_come_in_order():
    good, wrong = of(EVEN, EVEN), of(2 * EVEN, EVEN)
    no_mixture = lambda: Case((EVEN @ VALUES.exp()).float(), EVEN @ VALUES, VALUES)  # noqa: E731
    later = [("heads", good), ("projection", wrong)]
    assert first_wrong(no_mixture, wrong, *later).name == "values"
    assert first_wrong(good, no_mixture, *later) is None, "what that comes from is not known"
    assert first_wrong(good, good, *later).name == "projection"
    assert first_wrong(good, good, *reversed(later)).name == "projection"
    assert first_wrong(good, good) is None
    nothing = lambda: Case(None, EVEN @ VALUES, VALUES)  # noqa: E731
    assert first_wrong(nothing, good) is None


def refused():
    raise CheckFailed("it returned None")


def test_what_a_case_refuses_has_no_place():
    assert first_wrong(refused, refused) is None


POWERS = SCORES.exp()


@pytest.mark.parametrize(
    "even, usual, step",
    [
        (0.9 * EVEN, 0.9 * SCORES.softmax(-1), "size"),
        (0.9 * EVEN, 0.9 * (2 * SCORES).softmax(-1), "size"),
        (-6 * EVEN, POWERS - POWERS.sum(-1, keepdim=True), "softmax"),
        (3 * EVEN, POWERS, "softmax"),
        (torch.ones(3, 3).tril(1) / torch.ones(3, 3).tril(1).sum(-1, keepdim=True) + EVEN * 0, SEEN, "unseen"),
        (SCORES.softmax(-1), SCORES.softmax(-1), "scores"),
    ],
)
def test_a_wrong_average_of_equal_scores(even, usual, step):
    found = first_wrong(of(even, EVEN), of(usual, SCORES.softmax(-1)))
    assert found.name == step
    assert ("0.9 times" in found.says) == (step == "size")


@pytest.fixture(scope="module")
def graders():
    return Graders()


def step_of(graders, exercise, text):
    of = right(bank(exercise))
    found = graders.wrong_step(ExerciseRun(exercise, replace(of, source=text).local(), seed=1))
    return found and found.name


@pytest.mark.parametrize("exercise", sorted(course.exercises()))
def test_a_right_answer_has_no_wrong_step(graders, exercise):
    assert step_of(graders, exercise, bank(exercise).right) is None


@pytest.mark.parametrize(
    "exercise, old, new, step",
    [
        ("SelfAttentionNaive", "attention_scores, dim=1", "attention_scores, dim=0", "softmax"),
        ("scaled_self_attention", "** 0.5", "** 0.6", "scale"),
        ("SingleHeadSelfAttention", "** 0.5", "** 0.6", "scale"),
        ("SelfAttention", "V = self.W_value(x)", "V = self.W_value(x).tanh()", "values"),
        ("masked_weights", "device=query.device))", "device=query.device), 1)", "mask"),
        ("Head", "wei = q @", "wei = q.tanh() @", "scores"),
        ("CausalAttention", "dim=-1", "dim=-2", "softmax"),
        ("attention", "scores.masked_fill(~mask", "scores.masked_fill(mask", "sign"),
        ("EncoderHead", "** -0.5", "** -0.6", "scale"),
        ("SelfAttentionWide", "return self.unifyheads(out)", "return self.unifyheads(out).tanh()", "values"),
        ("MultiHeadAttention", "return self.out_proj(found)", "return self.out_proj(found) - found / 2", "size"),
        ("MultiHeadAttention", "return self.out_proj(found)", "return self.out_proj(found).exp()", "values"),
        ("attention", "    return weights", "        return weights", None),
        ("cached_attention", ".tril(s - t)", ".tril()", "unseen"),
        ("MultiHeadAttention", "found.transpose(1, 2).flatten(2)", "found.reshape(b, n, -1)", "heads"),
        ("StackedHeads", "self.proj(torch.cat(found, dim=-1))", "torch.cat(found, dim=-1)", "projection"),
        ("CrossAttention", "self.W_value(context)", "self.W_key(context)", "values"),
        ("MultiHeadCrossAttention", "self.out_proj(found", "(found", "projection"),
        ("MultiHeadAttention", "return self.out_proj(found)", "return self.out_proj(found) * 0", "nothing"),
        ("scaled_self_attention", "F.softmax(raw_weights", "F.softmax(raw_weights / raw_weights.max()", "scores"),
    ],
)
def test_a_step_of_an_answer(graders, exercise, old, new, step):
    text = bank(exercise).right
    assert old in text, text
    assert step_of(graders, exercise, text.replace(old, new)) == step


ADDED = "wei = wei + self.tril[:t, :t] * -1e9"
CHOSEN = "wei = torch.where(self.tril[:t, :t] == 0, wei, -torch.inf)"
WRITTEN = "wei = wei.float(); wei[:, self.tril[:t, :t].bool()] = -torch.inf"
HIDE = 'wei = wei.masked_fill(self.tril[:t, :t] == 0, float("-inf"))'


@pytest.mark.parametrize(
    "exercise, edits",
    [
        ("Head", ["self.tril[:t, :t] == 0", "self.tril[:t, :t] == 1"]),
        ("Head", [HIDE, ADDED]),
        ("Head", [HIDE, CHOSEN]),
        ("Head", [HIDE, WRITTEN]),
        ("Head", ["F.softmax(wei, dim=-1)", "F.softmax(wei, dim=-1).nan_to_num()", HIDE, CHOSEN]),
        ("Head", ["** -0.5", "** 0.5", HIDE, ADDED]),
        ("masked_weights", ["tril == 0", "tril != 0"]),
        ("masked_weights", ["torch.tril(torch.ones(t, t, device=query.device))", "torch.ones(t, t).triu(1)"]),
        ("CausalAttention", ["allowed = self.mask[:n, :n]", "allowed = ~self.mask[:n, :n]"]),
        ("CausalAttention", ["~allowed, float", "allowed, float"]),
        ("CausalAttention", ["allowed & padding_mask[", "allowed & ~padding_mask["]),
        ("CausalAttention", ["padding_mask[:, None, :]", "(padding_mask[:, None, :] == 0)"]),
        ("MultiHeadAttention", ["self.mask[:n, :n], float", "~self.mask[:n, :n], float"]),
        ("GatedAttention", ["masked_fill(~past", "masked_fill(past"]),
        ("LatentAttention", ["masked_fill(~past", "masked_fill(past"]),
        ("cached_attention", ["attn_mask=past", "attn_mask=~past"]),
        ("cached_attention", ["attn_mask=past", "attn_mask=past.float() * -1e9"]),
        ("tiled_attention", ["columns > rows", "columns <= rows"]),
        ("flash_attention", [".triu(1)", ".tril()"]),
        ("attention", ["masked_fill(~mask", "masked_fill(mask"]),
        ("attention", ["has_a_key = mask", "mask = ~mask\n        has_a_key = mask"]),
        ("CrossAttention", ["masked_fill(~allowed", "masked_fill(allowed"]),
        ("CrossAttention", ["context_mask[:, None, :]", "context_mask[:, None, :].logical_not()"]),
        ("CrossAttention", ["scores.masked_fill(~allowed, -torch.inf)", "(scores + allowed * -1e9)"]),
        ("MultiHeadCrossAttention", ["masked_fill(~allowed", "masked_fill(allowed"]),
    ],
)
def test_a_mask_the_wrong_way_round(graders, exercise, edits):
    assert step_of(graders, exercise, changed(exercise, *edits)) == "sign"


@pytest.mark.parametrize(
    "exercise, edits, step",
    [
        ("Head", [HIDE, "pass"], "mask"),
        ("Head", ["torch.tril(", "torch.triu("], "mask"),
        ("Head", [HIDE, "wei = wei + self.tril[:t, :t]"], "mask"),
        ("Head", ["torch.ones(block_size, block_size))", "torch.ones(block_size, block_size), 1)"], "mask"),
        ("Head", ["self.value(x)", "self.value(x).roll(-1, 1)"], "order"),
        ("Head", ["wei @ v", "wei.mT @ v"], "mask"),
        ("Head", ["wei @ v", "(1 - wei) @ v"], "mask"),
        ("Head", ["wei @ v", "wei.flip(-1) @ v"], "order"),
        ("CausalAttention", ["allowed & padding_mask[:, None, :]", "allowed"], "mask"),
        ("CausalAttention", ["allowed & padding_mask", "allowed | padding_mask"], "mask"),
        ("CrossAttention", ["scores.masked_fill(~allowed, -torch.inf)", "scores"], "mask"),
        ("CrossAttention", ["scores.masked_fill(~allowed, -torch.inf)", "(scores + allowed)"], "mask"),
        ("CrossAttention", ["weights.masked_fill(empty, 0.0)", "2 * weights"], "softmax"),
        ("CrossAttention", ["weights.masked_fill(empty, 0.0)", "weights * torch.nan"], None),
        ("attention", ["masked_fill(~mask", "masked_fill(mask.mT"], None),
        ("cached_attention", ["attn_mask=past", "attn_mask=past.flip(-1)"], "mask"),
    ],
)
def test_another_wrong_mask_is_not_called_inverted(graders, exercise, edits, step):
    assert step_of(graders, exercise, changed(exercise, *edits)) == step


def changed(exercise, *edits):
    """The right answer after some edits: an old text and a new one, then the next."""
    text = bank(exercise).right
    for old, new in zip(edits[::2], edits[1::2], strict=True):
        assert old in text, text
        text = text.replace(old, new)
    return text
