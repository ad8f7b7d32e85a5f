"""Where a statement says that an answer gets nothing, no name and no edit gives it points."""

import pytest

from autograder import course
from autograder.mistakes.bank import right_answer
from autograder.mistakes.name_check import cells_for

TESTS = ["check_softmax", "check_attention", "check_causal", "check_heads", "check_cross"]
LONG = pytest.mark.slow("it builds hundreds of layers, several times over")
# what a test of a student's does before all else, or in place of it
REFUSING = {
    "refuses": "    raise AssertionError('no')\n",
    "reads an attribute": "    assert candidate.mask\n",
    "compares numbers with others": "    x = torch.ones(3)\n    assert torch.equal(x, x + 1)\n",
    "asks too often": "    for _ in range(300):\n        {ask}\n",
    "stops at a seed": "    torch.manual_seed(0)\n    assert torch.randn(3).sum() > 100\n",
    "a slip of a sign": "    lengths = [5, 2 - 5]\n    assert min(lengths) > 0\n",
}
KINDS = [pytest.param(kind, marks=LONG if kind == "asks too often" else ()) for kind in REFUSING]
ASKS = {
    "check_softmax": "candidate(torch.ones(3), 0)",
    "check_attention": "candidate(torch.ones(1, 2, 3), torch.ones(1, 2, 3), torch.ones(1, 2, 3))",
    "check_causal": "candidate(6, 4, 5, 0.0)",
    "check_heads": "candidate(6, 8, 5, 0.0, 2)",
    "check_cross": "candidate(6, 7, 4)",
}


def outcome_of(grader, exercise, answer):
    wanted = [course.exercises()[exercise]]
    (outcome,) = grader.grade_cells(cells_for(exercise, answer), wanted, 1).verdict.exercises
    return outcome.credited("prices")


@pytest.mark.drawn(1, "exercises that ask for a test", by="exercise")
@pytest.mark.parametrize("exercise", TESTS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_test_that_refuses_right_answers_gets_nothing(grader, exercise, kind):
    head, _, body = right_answer(exercise).partition(f"def {exercise}(candidate):\n")
    wrong = f"{head}def {exercise}(candidate):\n{REFUSING[kind].format(ask=ASKS[exercise])}{body}"
    assert body and "torch" in head + wrong
    outcome = outcome_of(grader, exercise, wrong)
    assert (outcome.status, outcome.score) == ("graded", 0)
    assert not any(one.has_price or one.line.startswith("torch.manual_seed") for one in outcome.diagnosis)


@LONG
@pytest.mark.parametrize("exercise", ["check_causal", "check_heads", "check_cross"])
def test_a_right_test_builds_as_often_as_the_statement_says(grader, exercise):
    head, _, body = right_answer(exercise).partition(f"def {exercise}(candidate):\n")
    often = f"{head}def {exercise}(candidate):\n    for _ in range(150):\n        {ASKS[exercise]}\n{body}"
    outcome = outcome_of(grader, exercise, often)
    assert outcome.score == outcome.max_score, [check.message for check in outcome.checks if not check.passed]
