"""No right answer loses a point by chance, and no other one a point for what its mistake does not touch."""

import math

import pytest
import torch
import torch.nn.functional as F

from autograder.checks import api
from autograder.checks.api import HUGE
from autograder.checks.proxies import Local
from autograder.checks.runner import checks_of
from autograder.mistakes.bank import bank, namespace_of, right_answer
from autograder.mistakes.name_check import cells_for


def solution(exercise):
    cells = [cell.source for cell in cells_for(exercise, right_answer(exercise))]
    return Local(namespace_of(exercise, *cells), cells[-1])


@pytest.mark.parametrize(
    "exercise, seed",
    [
        ("LatentAttention", 205808341910916),  # random weights hide a token
        ("train_by_recipe", 636),  # the first step is clipped, which a gradient as small as AdamW's epsilon shows
    ],
)
def test_the_solution_gets_full_marks_at_a_seed_that_has_cost_it_points(graders, exercise, seed):
    assert [check.message for check in graders.run(exercise, solution(exercise), seed).failed()] == []


@pytest.mark.parametrize("seed", [355, 816])
def test_a_threshold_in_float32_keeps_no_token_more_near_10_000(graders, seed):
    """Logits that differ by less than 0.0005 are the same in float32 when 10,000 is added, so such are not drawn."""
    text = right_answer("top_p", "threshold")
    run = graders.run("top_p", Local(namespace_of("top_p", text), text), seed)
    assert [check.message for check in run.failed()] == []


def test_a_change_that_rounding_may_hide_is_asked_of_nobody():
    before, little, clear = torch.zeros(3, 4), torch.full((3, 4), 1e-5), torch.full((3, 4), 0.1)
    right = torch.ones(3, 4).double()
    api.reacts(before, before, right, right + 1e-5, "it stays the same")
    api.reacts(before, clear, right, right + 0.1, "it stays the same")
    api.reacts(before, little, right, right + 0.1, "it stays the same")
    with pytest.raises(api.CheckFailed, match="it stays the same"):
        api.reacts(before, before, right, right + torch.tensor([[0.0], [0.1], [0.0]]), "it stays the same")


def test_a_logsumexp_of_logits_near_10_000_costs_no_point():
    """Its rounding is that of numbers of this size, and so larger than the usual share of a loss."""
    generator, targets = torch.Generator().manual_seed(1), torch.arange(10) % 11
    used, usual = [], []
    for _ in range(3_000):
        logits = torch.randn(10, 11, generator=generator) + HUGE
        expected = F.cross_entropy(logits.double(), targets)
        error = float((F.nll_loss(logits - logits.logsumexp(-1, keepdim=True), targets) - expected).abs())
        used.append(error / api.allowed(expected, checks_of("BigramLanguageModel").tolerance_of_loss(expected)))
        usual.append(error / api.allowed(expected))
    assert max(used) < 0.5 < 1 < max(usual)


# --- the rates of checks that draw -----------------------------------------------------------------


@pytest.mark.parametrize("total, chance", [(544, 0.75), (576, 0.75), (576, 0.2), (1024, 0.2)])
def test_shares_are_rejected_less_often_than_once_in_a_million(total, chance):
    """Of the weights that the checks of dropout look at; the sum is exact, since it is over all counts."""
    counts = torch.arange(total + 1)
    log_chances = torch.distributions.Binomial(total, torch.tensor(chance).double()).log_prob(counts.double())
    rejected = torch.tensor([not api.plausible(int(count), total, chance) for count in counts])
    rate = log_chances[rejected].exp().sum().item()
    assert 0 < rate < api.CHANCE
    assert not api.plausible(int(total * (chance - 0.15)), total, chance), "another share is seen"


RATES = {
    "causal_head: 96 single weights are all kept, or none": 0.2**96 + 0.8**96,
    "many_heads: none of 16 tokens that see one of their kind loses it": 0.2**16,
    "get_batch: two batches of 240 from 2400 starts hold none twice": math.prod(1 - i / 2400 for i in range(240)) ** 2,
    "get_batch: two batches of 8 from 1996 starts are the same": 1996.0**-8,
    "train: 4 batches of 5 from 3 blocks hold one block each": (3 * 3.0**-5) ** 4,
    "train: 12 batches of 32 from 3 blocks hold even numbers of each": ((1 + 3 * 3.0**-32) / 4) ** 12,
    "train: two batches of 3 from 56 starts are the same, twice, in one of four comparisons": 4 * (6 * 56.0**-3) ** 2,
}


@pytest.mark.parametrize("what", RATES)
def test_coincidences_are_rarer_than_one_in_a_million(what):
    assert RATES[what] < 1e-6


# --- what a check takes points for, and what it says ------------------------------------------------


def test_a_query_that_sees_nothing_costs_no_point_among_extreme_scores(graders):
    run = graders.run("attention", bank("attention")["nan-in-empty-rows"].local(), 1)
    assert {"test_nothing_to_attend_to"} <= {check.name for check in run.failed()}
    assert "test_extreme_scores_with_a_mask" not in {check.name for check in run.failed()}


def test_gradients_that_pile_up_are_not_blamed_on_the_generator(graders):
    run = graders.run("train", bank("train")["gradients-pile-up"].local(), 1)
    assert "test_steps" in {check.name for check in run.failed()}
    assert "test_generator" not in {check.name for check in run.failed()}


def test_a_softmax_for_vectors_alone_is_not_praised_for_slices_side_by_side(graders):
    run = graders.run("softmax", bank("softmax")["keepdim-forgotten"].local(), 1)
    assert "test_large_scores_beside_mild_ones" in {check.name for check in run.failed()}


def test_who_seeds_torch_in_each_call_leaves_a_trace_each_time(graders):
    """Also where the call before has left the state that the next one begins with."""
    answer = bank("generate")["seed-of-its-own"].local()
    for _ in range(2):
        failed = {check.name for check in graders.run("generate", answer, 1).failed()}
        assert failed == {"test_generator", "test_leaves_no_trace"}


def test_what_draws_by_itself_draws_the_same_in_each_process(graders):
    """So that a mistake of the bank, which is run elsewhere, does what the student's code does."""
    runs = []
    for draws in (0, 7):
        torch.rand(draws)
        run = graders.run("accept", bank("accept")["token-drawn"].local(), 1)
        runs.append(str({name: seen.entries for name, seen in run.transcripts.items()}))
    assert runs[0] == runs[1] and "tensor" in runs[0]
