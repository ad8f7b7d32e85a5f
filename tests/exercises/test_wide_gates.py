"""Checks of devices and arguments do not hang on values: an answer that attends, and is wrong in what it makes of that.

Each of these mistakes changes all values. For answers that compute no attention, see `test_no_attention.py`.
"""

import pytest
import torch

from autograder.checks.api import CheckFailed, Draw
from autograder.exercises.families import easy_cases
from autograder.mistakes.bank import bank

SLIPS = {
    "AlternatingCoAttention": ("step-3-on-weighted-words", "summaries-added", "weighted-mean"),
    "CausalAttention": ("keys-as-values", "mask-after-softmax", "not-divided", "softmax-over-queries"),
    "EncoderHead": ("not-divided", "softmax-over-everything"),
    "GroupedQueryAttention": ("first-head-for-all", "heads-reversed", "keys-as-values", "mask-inverted"),
    "Head": ("keys-as-values", "scale-after-softmax", "weights-transposed"),
    "MultiHeadCrossAttention": ("heads-averaged", "one-sum-for-all-rows", "values-from-queries"),
    "ParallelCoAttention": ("mean-added", "most-attended-token", "sigmoid-weights", "weighted-mean"),
}
APART = ("device", "arguments")  # categories of checks that ask for nothing of the values


@pytest.mark.parametrize("exercise, id", [(exercise, id) for exercise, ids in SLIPS.items() for id in ids])
def test_wrong_values_cost_no_devices_and_no_arguments(graders, exercise, id):
    run = graders.run(exercise, bank(exercise)[id].local(), 0)
    assert [check.message for check in run.failed() if check.category in APART] == []
    assert any(check.category == "values" for check in run.failed())


@pytest.fixture
def case():
    """Tokens and their scores, and a matrix that reads something off what they find."""
    draw = Draw(0, "Head/case")
    x = easy_cases.many_kinds(draw, 5, 6)
    return x, easy_cases.scores_of(x) / 2, draw.normal(6, 4)


def mixed(scores, x, dim=-1):
    return scores.double().softmax(dim) @ x.double()


def test_any_matrix_may_follow(case):
    x, scores, matrix = case
    for weighed in (mixed(scores, x), mixed(scores, x, dim=-2), mixed(scores / 3.3, x)):
        easy_cases.mixes_somehow(weighed @ matrix.double(), 2 * scores, x)
        easy_cases.mixes_somehow(weighed[..., :1] @ matrix[:1].double(), 2 * scores, x)


def test_another_mask_may_be_there_only_where_one_should_be(case):
    x, scores, matrix = case
    weighed = mixed(scores.masked_fill(torch.ones(5, 5).triu(1) == 1, -torch.inf), x) @ matrix.double()
    easy_cases.mixes_somehow(weighed, 2 * scores, x, causal=True)
    easy_cases.mixes_somehow(mixed(scores, x) @ matrix.double(), 2 * scores, x, causal=True)
    with pytest.raises(CheckFailed):
        easy_cases.mixes_somehow(weighed, 2 * scores, x)


def test_weights_may_lack_their_sum(case):
    x, scores, matrix = case
    weights = scores.double().exp()
    for undivided in (weights, weights / weights.sum((-1, -2), keepdim=True), weights / weights.amax(-1, keepdim=True)):
        easy_cases.mixes_somehow(undivided @ x.double() @ matrix.double(), 2 * scores, x)


@pytest.mark.parametrize(
    "weigh",
    [
        torch.zeros_like,
        torch.ones_like,
        lambda scores: torch.eye(5).expand_as(scores),
        lambda scores: (scores == scores.amax(-1, keepdim=True)).float(),
        lambda scores: scores / scores.sum(-1, keepdim=True),
        lambda scores: scores.mean(-2, keepdim=True).expand_as(scores).softmax(-1),
        lambda scores: scores.sigmoid(),
        lambda scores: torch.rand(scores.shape, generator=torch.Generator().manual_seed(0)),
    ],
)
def test_nothing_else_fits(case, weigh):
    x, scores, matrix = case
    with pytest.raises(CheckFailed):
        easy_cases.mixes_somehow(weigh(scores) @ x @ matrix, 2 * scores, x)


def test_what_is_no_row_of_numbers_is_refused(case):
    x, scores, _ = case
    for value in (None, torch.tensor(1.0), x[0], x.to("meta"), torch.full_like(x, torch.nan)):
        with pytest.raises(CheckFailed):
            easy_cases.mixes_somehow(value, scores, x)
