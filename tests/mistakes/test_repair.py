"""One small edit that makes a wrong answer right: the line is told, and no more is charged than the edit costs."""

import ast

import pytest

from autograder import course
from autograder.checks.runner import ExerciseRun
from autograder.grading.seeds import new_seed
from autograder.mistakes import repair
from autograder.mistakes.bank import bank, right_answer
from autograder.mistakes.edits import edits_in, slips
from autograder.mistakes.prices import PRICES
from autograder.mistakes.repair import material
from autograder.sandbox.replies import Place
from autograder.verdict import NOT_TRIED, Check

SEED = new_seed()
RIGHT = bank("attention").right
SHIFT = "weights = weights.masked_fill(~has_a_key, 0.0)"


def outcome_of(grader, tmp_path, text, exercise="attention"):
    written = tmp_path / f"{exercise}.py"
    written.write_text(
        "import math\n\nimport torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n\n" + text
    )
    (outcome,) = grader.grade_file(written, exercise, SEED).verdict.exercises
    return outcome


@pytest.mark.parametrize(
    "old, new, id, price",
    [
        (SHIFT, SHIFT.replace("0.0", "0.7"), repair.ID, PRICES["masking"]),
        ("F.softmax(scores, dim=-1)", "F.softmax(-1, scores)", "fact-no-tensor", repair.NEVER_RAN),
        ("@ value, weights", "@ -value, weights", "fact-times", PRICES["values"]),
    ],
    ids=["a constant", "an error at every turn", "a sign"],
)
def test_the_line_is_told_and_the_edit_is_paid_for(grader, tmp_path, old, new, id, price):
    assert RIGHT.count(old) == 1
    outcome = outcome_of(grader, tmp_path, RIGHT.replace(old, new))
    (found,) = outcome.diagnosis
    assert new in found.line and (found.id, found.price) == (id, price), outcome
    assert outcome.by_prices == pytest.approx((1 - price) * outcome.max_score)


def test_each_kind_of_edit_has_a_sentence():
    kinds = set()
    for exercise in course.exercises():
        tree = ast.parse(right_answer(exercise))
        kinds |= {edit.kind for of_node in (slips, material(exercise).additions) for edit in edits_in(tree, of_node)}
    assert kinds and kinds <= repair.CHANGES.keys(), kinds - repair.CHANGES.keys()


def test_two_slips_have_no_price(grader, tmp_path):
    text = RIGHT.replace(SHIFT, SHIFT.replace("0.0", "0.7")).replace(
        "@ value, weights", "@ (0.7 * value.abs()), weights"
    )
    outcome = outcome_of(grader, tmp_path, text)
    assert outcome.by_prices == 0 and not any(one.has_price for one in outcome.diagnosis), outcome.diagnosis


def test_an_edit_that_never_ends_is_stopped_and_the_checks_decide(grader, tmp_path):
    never = "    n = 0\n    while n < 1:\n        n = n + 1\n"
    head, body = RIGHT.split(":\n", 1)
    text = f"{head}:\n{never}{body}".replace("@ value, weights", "@ (0.7 * value.abs()), weights")
    outcome = outcome_of(grader, tmp_path, text)
    assert outcome.status == "graded" and outcome.by_prices == 0, outcome


def test_what_an_answer_does_when_it_is_edited_costs_it_its_process_alone(grader, tmp_path):
    """It ends its process the second time that it is defined: no edit is found, and its points stay as they are."""
    text = RIGHT.replace("@ value, weights", "@ (0.7 * value.abs()), weights")
    trap = "import os\n\nif 'seen' in globals():\n    os._exit(3)\nseen = True\n\n\n"
    plain, trapped = outcome_of(grader, tmp_path, text), outcome_of(grader, tmp_path, trap + text)
    assert trapped.status == "graded" and (trapped.score, trapped.by_prices) == (plain.score, plain.by_prices)


def run_of_attention(*lines):
    """A run of attention in which errors ended checks at these lines."""
    places = {f"check {line}": Place("the answer", 1, line) for line in lines}
    return ExerciseRun("attention", None, SEED, places=places)


def test_the_same_edits_are_tried_each_time_those_of_lines_with_errors_first():
    line = next(line for line in RIGHT.splitlines() if "softmax" in line)
    number = RIGHT.splitlines().index(line) + 1
    tried, again = (list(repair.tries(RIGHT, run_of_attention(line))) for _ in range(2))
    assert len(tried) == repair.MOST and tried == again
    of_line = [edit.line == number for edit in tried]
    assert any(of_line) and of_line == sorted(of_line, reverse=True)


def test_an_answer_that_stands_on_wrong_ones_is_edited_too_if_these_are_not_to_blame(grader, tmp_path):
    right = right_answer("train", "two_functions")
    assert right.count("range(steps)") == 1
    (found,) = outcome_of(grader, tmp_path, right.replace("range(steps)", "range()"), "train").diagnosis
    assert (found.id, found.price) == ("fact-number-of-arguments", repair.NEVER_RAN)


def test_nothing_is_tried_where_no_check_was():
    run = run_of_attention()
    run.checks = [Check("test_one", "values", 1.0, False, NOT_TRIED, NOT_TRIED)]
    assert not repair.is_wanted(run, [])


def test_what_is_no_python_has_no_edits():
    assert list(repair.tries("def broken(:", run_of_attention())) == []


def test_nothing_is_tried_where_a_mistake_is_named(grader, tmp_path, monkeypatch):
    monkeypatch.setattr(repair, "tries", lambda *args: pytest.fail("an edit is looked for"))
    outcome = outcome_of(grader, tmp_path, next(m.source for m in bank("attention").values() if m.id == "no-scale"))
    assert [one.id for one in outcome.diagnosis] == ["no-scale"]


def test_a_fact_keeps_its_sentence_and_gets_the_price(grader, tmp_path):
    right = bank("SelfAttention").right
    assert "nn.Linear(d_in, d_out" in right
    outcome = outcome_of(
        grader, tmp_path, right.replace("nn.Linear(d_in, d_out", "nn.Linear(d_out, d_out", 1), "SelfAttention"
    )
    first = outcome.diagnosis[0]
    assert first.id == "fact-shape-of-a-parameter" and "nn.Linear(d_out, d_out" in first.line and first.has_price, (
        outcome
    )
