"""Scores and weights that are all multiplied by one factor are told with it; what only looks like it is not."""

import pytest

from autograder.checks.proxies import Local
from autograder.checks.runner import Graders
from autograder.mistakes.attention_factor import SCORES, WEIGHTS, attention_factor
from autograder.mistakes.bank import bank, namespace_of
from autograder.mistakes.behaviour import Behaviours
from autograder.mistakes.diagnosis import Odds, Search

GRADERS = Graders()
SCALE = {"attention": "key.shape[-1] ** 0.5", "Head": "k.shape[-1] ** -0.5", "MultiHeadAttention": "K.shape[-1] ** 0.5"}
SOFTMAX = {
    "attention": "F.softmax(scores, dim=-1)",
    "Head": "F.softmax(wei, dim=-1)",
    "MultiHeadAttention": "F.softmax(scores, dim=-1)",
}


@pytest.fixture(scope="module")
def behaviours():
    return {exercise: Behaviours(bank(exercise), GRADERS, 1) for exercise in SCALE}


@pytest.fixture
def told(behaviours):
    def tell(exercise, old, new, steps=("scale", "size")):
        """What is told of a right answer with another text in it, whichever of these steps is the first wrong one."""
        right = bank(exercise).right
        assert right.count(old) == 1
        return of_text(exercise, right.replace(old, new), steps)

    def of_text(exercise, text, steps):
        run = GRADERS.run(exercise, Local(namespace_of("answer", bank(exercise).around, text), text), 1)
        answers = Search(run, behaviours[exercise], Odds()).all_answers()
        found = [attention_factor(step, run.rejected(), answers, behaviours[exercise]) for step in steps]
        assert run.rejected()
        return [(fact.id, fact.says) for fact in found if fact]

    tell.of_text = of_text
    return tell


@pytest.mark.parametrize(
    "exercise, times, says",
    [
        ("attention", "0.7", "0.7 times what they should be."),
        ("attention", "64", "64 times what they should be."),
        (
            "attention",
            "query.shape[-2] ** 0.5",
            "√n times what they should be, with n for the size of the output's second",
        ),
        ("Head", "3", "3 times what they should be."),
        ("Head", "self.block_size ** -0.5", "1/√`block_size` times what they should be."),
        ("MultiHeadAttention", "self.num_heads", "`num_heads` times what they should be."),
    ],
)
def test_a_factor_of_all_scores_is_told(told, exercise, times, says):
    ((id, sentence),) = told(exercise, SCALE[exercise], f"{SCALE[exercise]} * {times}")
    assert id == SCORES.id and sentence.startswith(f"All scores are {says}")


@pytest.mark.parametrize(
    "exercise, times, says",
    [
        ("attention", "0.9", "0.9, and not to 1."),
        ("Head", "/ t", "1/n, and not to 1, with n for the size of the output's second"),
        ("MultiHeadAttention", "/ self.num_heads", "1/`num_heads`, and not to 1."),
        ("MultiHeadAttention", "* 0.5", "0.5, and not to 1."),
    ],
)
def test_the_sum_of_the_weights_is_told(told, exercise, times, says):
    times = times if times[0] in "*/" else f"* {times}"
    ((id, sentence),) = told(exercise, SOFTMAX[exercise], f"({SOFTMAX[exercise]} {times})")
    assert id == WEIGHTS.id and sentence.startswith(f"The weights of each token sum to {says}")


@pytest.mark.parametrize(
    "exercise, old, new",
    [
        ("attention", "F.softmax(scores, dim=-1)", "F.softmax(scores, dim=-2)"),
        ("attention", "F.softmax(scores, dim=-1)", "F.softmax(scores * scores.shape[0], dim=-1)"),
        ("attention", "F.softmax(scores, dim=-1)", "(F.softmax(scores, dim=-1) + 0.01)"),
        ("attention", "F.softmax(scores, dim=-1)", "F.softmax(scores * 0.9 + 0.1 * scores ** 2, dim=-1)"),
        ("attention", "return weights @ value, weights", "return weights @ value + 0.1, weights"),
        ("Head", "k = self.key(x)", "k = self.query(x)"),
        ("Head", "F.softmax(wei, dim=-1)", "F.softmax(wei / (1 + torch.arange(t)), dim=-1)"),
    ],
)
def test_what_is_no_common_factor_is_not_told(told, exercise, old, new):
    assert told(exercise, old, new) == []


def test_it_is_tried_only_where_the_first_wrong_step_shows_it(told):
    assert told("attention", SCALE["attention"], f"{SCALE['attention']} * 0.7", steps=("values", "mask", "order")) == []


@pytest.mark.parametrize("id", ["mask-ignored", "keys-as-values", "sigmoid-weights", "exp-without-max"])
def test_the_bank_s_other_mistakes_are_none(told, id):
    assert told.of_text("attention", bank("attention")[id].source, ("scale", "size")) == []
