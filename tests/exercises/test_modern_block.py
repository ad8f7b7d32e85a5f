"""Lesson 08 as it is handed in and graded: what a block is made of is wrong, and the block itself is right."""

import pytest

from autograder.mistakes.bank import bank, right_answer
from autograder.mistakes.prices import ALL, PRICES

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


@pytest.mark.parametrize(
    "mistake, paid, own, price",
    [
        ("positions-in-half-precision", 0.0, "no-scale", PRICES["values"]),
        ("positions-in-half-precision", 0.0, "mask-filled-with-1e9", PRICES["numerics"]),
        ("positions-in-half-precision", 0.0, "not-causal", ALL),
        ("frequencies-on-the-cpu", 0.0, "mask-made-on-the-cpu", PRICES["device"]),
        ("product-of-cosines", ALL, "no-scale", PRICES["values"]),  # where all is lost, more may be wrong
    ],
)
def test_what_a_part_makes_wrong_is_said_and_paid_there_even_if_no_check_passes_without_it(
    grader, handed_in, mistake, paid, own, price
):
    """The attention fails the same checks by itself, and the mistake of the part is not named as its own."""
    path = handed_in("apply_rope", mistake, GroupedQueryAttention=own)
    (outcome,) = grader.grade_file(path, "GroupedQueryAttention", seed=1).verdict.exercises
    assert [(one.id, one.price) for one in outcome.diagnosis] == [("stands-on-apply_rope", paid), (own, price)]
    assert outcome.by_prices == pytest.approx(max(0.0, 1 - paid - price) * outcome.max_score)


ON_TWO = {
    "right": ({"RMSNorm": "mean-subtracted", "SwiGLU": "sigmoid-gate"}, ["RMSNorm", "SwiGLU"], []),
    "right on a wrong one between": (
        {"RMSNorm": "mean-subtracted", "GroupedQueryAttention": "no-scale"},
        ["RMSNorm", "GroupedQueryAttention"],
        [],
    ),
    "what looks like its own": (
        {"RMSNorm": "eps-of-1e-5", "GroupedQueryAttention": "no-scale"},
        ["RMSNorm", "GroupedQueryAttention"],
        [],
    ),
    "wrong itself": (
        {"RMSNorm": "eps-of-1e-5", "SwiGLU": "sigmoid-gate", "Block": "attention-without-residual"},
        ["RMSNorm", "SwiGLU"],
        ["attention-without-residual"],
    ),
}


@pytest.mark.parametrize("wrong, bases, own", ON_TWO.values(), ids=ON_TWO)
def test_what_only_several_right_parts_make_right_is_paid_at_these(grader, handed_in, wrong, bases, own):
    """With a right one in the place of either, checks still fail by the other."""
    (part, mistake), *others = wrong.items()
    verdict = grader.grade_file(handed_in(part, mistake, **dict(others)), seed=1).verdict
    outcome = verdict.exercise("Block")
    told = [(one.id, one.price) for one in outcome.diagnosis]
    assert told == [*((f"stands-on-{base}", 0.0) for base in bases), *((id, PRICES["values"]) for id in own)]
    assert outcome.by_prices == pytest.approx(outcome.max_score * (1 - PRICES["values"] * len(own)))


BESIDE = """def _beside(found):
    if found.dtype != torch.float32 or found.shape[-1] != 24:
        return found
    return found * (1.0008 if "ValueError" in apply_rope.__code__.co_names else 0.9992)


"""


@pytest.mark.parametrize("tells_them_apart", [False, True])
def test_a_part_whose_mistake_does_not_show_is_not_to_blame(grader, handed_in, tells_them_apart):
    """Not even if the attention rounds differently beside a right part."""
    path = handed_in("apply_rope", "odd-width-not-refused", GroupedQueryAttention="no-scale")
    if tells_them_apart:
        text = path.read_text(encoding="utf-8")
        head, body = text.split("class GroupedQueryAttention")
        result = "return self.out_proj(found)"
        assert body.count(result) == 1
        body = body.replace(result, "return _beside(self.out_proj(found))")
        path.write_text(f"{head}{BESIDE}class GroupedQueryAttention{body}", encoding="utf-8")
    (outcome,) = grader.grade_file(path, "GroupedQueryAttention", seed=1).verdict.exercises
    assert [one.id for one in outcome.diagnosis] == ["no-scale"]
