"""Lesson 08 as it is handed in and graded: what a block is made of is wrong, and the block itself is right."""

import pytest

from autograder.mistakes.bank import bank, right_answer
from autograder.mistakes.prices import PRICES

PARTS = ("RMSNorm", "SwiGLU", "apply_rope", "GroupedQueryAttention", "Block")


@pytest.fixture
def handed_in(tmp_path):
    """A file with right answers to all parts but one, in which a mistake is made, and `others`."""

    def write(part, mistake, **others):
        wrong = {part: mistake, **others}
        texts = [bank(name)[wrong[name]].source if name in wrong else right_answer(name) for name in PARTS]
        imports = "import math\n\nimport torch\nimport torch.nn.functional as F\nfrom torch import nn"
        path = tmp_path / "answer.py"
        path.write_text("\n\n\n".join([imports, *texts]) + "\n", encoding="utf-8")
        return path

    return write


@pytest.mark.parametrize(
    "part, mistake", [("apply_rope", "neighbours-turned"), ("GroupedQueryAttention", "heads-tiled")]
)
def test_what_a_block_stands_on_is_said_first(grader, handed_in, part, mistake):
    """That is the part that is wrong itself, not one between it and the block."""
    outcome = grader.grade_file(handed_in(part, mistake), "Block", seed=1).verdict.exercises[0]
    assert 0 < outcome.score < outcome.max_score
    assert [d.id for d in outcome.diagnosis] == [f"stands-on-{part}"]
    assert outcome.by_prices == outcome.max_score, "what is wrong with the part is paid for there"


def test_a_part_that_is_not_written_is_no_excuse(grader, handed_in):
    """The course's own in its place would give points for what nobody wrote."""
    path = handed_in("apply_rope", "neighbours-turned")
    text = path.read_text(encoding="utf-8")
    stub = "def apply_rope(x, positions, base=10000.0):\n    raise NotImplementedError\n"
    path.write_text(text.replace(bank("apply_rope")["neighbours-turned"].source, stub), encoding="utf-8")
    outcome = grader.grade_file(path, "Block", seed=1).verdict.exercises[0]
    assert outcome.diagnosis[0].id == "stands-on-apply_rope" and outcome.by_prices == 0 == outcome.score


def test_two_wrong_parts_are_both_said(grader, handed_in):
    path = handed_in("apply_rope", "neighbours-turned")
    text = path.read_text(encoding="utf-8")
    path.write_text(
        text.replace(right_answer("RMSNorm"), bank("RMSNorm")["weight-never-used"].source), encoding="utf-8"
    )
    outcome = grader.grade_file(path, "GroupedQueryAttention", seed=1).verdict.exercises[0]
    assert {d.id for d in outcome.diagnosis} >= {"stands-on-RMSNorm", "stands-on-apply_rope"}


def test_what_a_part_makes_wrong_is_paid_there_even_if_no_check_passes_without_it(grader, handed_in):
    """Without a scale, what the positions do in half precision fails no check that would not fail anyway."""
    path = handed_in("apply_rope", "positions-in-half-precision", GroupedQueryAttention="no-scale")
    (outcome,) = grader.grade_file(path, "GroupedQueryAttention", seed=1).verdict.exercises
    found = [(one.id, one.price) for one in outcome.diagnosis]
    assert found == [("stands-on-apply_rope", 0.0), ("no-scale", PRICES["values"])]
    assert outcome.by_prices == pytest.approx((1 - PRICES["values"]) * outcome.max_score)


def test_a_part_whose_mistake_does_not_show_is_not_to_blame(grader, handed_in):
    """A rotation that refuses too little changes nothing of what the attention does."""
    path = handed_in("apply_rope", "odd-width-not-refused", GroupedQueryAttention="no-scale")
    (outcome,) = grader.grade_file(path, "GroupedQueryAttention", seed=1).verdict.exercises
    assert [one.id for one in outcome.diagnosis] == ["no-scale"]
