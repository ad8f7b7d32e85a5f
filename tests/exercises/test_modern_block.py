"""Lesson 08 as it is handed in and graded: what a block is made of is wrong, and the block itself is right."""

import pytest
from conftest import ROOT, cell_of, hand_in, load
from sample import PARTS_OF_A_LESSON

from autograder.grading.blame import LOST
from autograder.mistakes import repair
from autograder.mistakes.bank import bank, right_answer
from autograder.mistakes.prices import ALL, PRICES

pytestmark = PARTS_OF_A_LESSON

LESSON = "08_modern_block"
PARTS = ("RMSNorm", "SwiGLU", "apply_rope", "GroupedQueryAttention", "Block")


@pytest.fixture
def handed_in(tmp_path):
    """A file with right answers to all parts but one, if any, in which a mistake is made, and `others`."""

    def write(part, mistake, **others):
        wrong = {part: mistake, **others} if part else others
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


STUB = "def apply_rope(x, positions, base=10000.0):\n    raise NotImplementedError\n"
CRASH = "def apply_rope(x, positions, base=10000.0):\n    return x.turned\n"
KEEPS_A_QUARTER = (
    "def apply_rope(x, positions, base=10000.0):\n"
    "    if x.shape[-1] % 2:\n        raise ValueError\n    return (x + 0 * x.cumsum(-2)).cos().to(x.dtype)\n"
)


def graded_with(grader, path, part, text, *wanted):
    """The outcomes of a file in which `text` stands in the place of a part."""
    whole = path.read_text(encoding="utf-8")
    path.write_text(whole.replace(right_answer(part), text), encoding="utf-8")
    verdict = grader.grade_file(path, *wanted, seed=1).verdict
    return {outcome.exercise: outcome for outcome in verdict.exercises}


@pytest.mark.parametrize("text", [STUB, CRASH], ids=["stub", "crash"])
@pytest.mark.parametrize("own", [None, "no-scale"])
def test_what_stands_on_a_part_that_is_lost_pays_for_itself_alone(grader, handed_in, text, own):
    """The points of the part are lost already: the rest is graded on the course's own."""
    path = handed_in("GroupedQueryAttention", own) if own else handed_in(None, None)
    found = graded_with(grader, path, "apply_rope", text)
    part, attention, block = (found[name] for name in ("apply_rope", "GroupedQueryAttention", "Block"))
    price = PRICES["values"] if own else 0
    assert part.by_checks == part.by_prices == 0 == block.by_checks
    assert attention.by_checks < attention.max_score and attention.diagnosis[0].id == "stands-on-apply_rope"
    assert attention.by_prices == pytest.approx((1 - price) * attention.max_score)
    assert block.by_prices == block.max_score


@pytest.mark.slow("it grades with several parts lost")
@pytest.mark.parametrize("text", ["class RMSNorm(nn.Module)\n    pass\n", "", "class RmsNorm(nn.Module):\n    pass\n"])
def test_what_stands_on_a_part_that_is_not_there_pays_for_itself_alone(grader, tmp_path, text):
    """A missing colon, an empty cell, another name: that costs the part, and it is what is said."""
    notebook = load(ROOT / "solutions" / LESSON / f"{LESSON}.ipynb")
    cell_of(notebook, "RMSNorm-solution")["source"] = text
    part, *_, attention, block = grader.grade_file(
        hand_in(notebook, tmp_path, f"{LESSON}.ipynb"), seed=1
    ).verdict.exercises
    assert part.exercise == "RMSNorm" and part.status != "graded" and part.by_checks == 0
    for one in (attention, block):
        assert one.by_checks < one.by_prices == one.max_score, one.exercise
        assert [found.id for found in one.diagnosis] == ["stands-on-RMSNorm"]


def test_who_keeps_points_of_a_part_has_no_second_try_above_it(grader, handed_in):
    """What the block did on its own is no right block's, as far as it is known what is wrong with the part."""
    found = graded_with(grader, handed_in(None, None), "apply_rope", KEEPS_A_QUARTER)
    part, block = found["apply_rope"], found["Block"]
    assert part.by_checks > LOST * part.max_score and block.diagnosis[0].id == "stands-on-apply_rope"
    assert block.by_prices == 0 and block.by_checks < block.max_score


def test_a_part_that_is_not_graded_with_it_is_no_excuse(grader, handed_in):
    """Nothing is paid for it then: in an earlier hand-in it may have been right."""
    found = graded_with(grader, handed_in(None, None), "apply_rope", STUB, "Block")
    block = found["Block"]
    assert block.diagnosis[0].id == "stands-on-apply_rope" and block.by_checks == block.by_prices == 0


def test_two_wrong_parts_are_both_said(grader, handed_in):
    path = handed_in("apply_rope", "neighbours-turned")
    text = path.read_text(encoding="utf-8")
    path.write_text(
        text.replace(right_answer("RMSNorm"), bank("RMSNorm")["weight-never-used"].source), encoding="utf-8"
    )
    outcome = grader.grade_file(path, "GroupedQueryAttention", seed=1).verdict.exercises[0]
    assert {d.id for d in outcome.diagnosis} >= {"stands-on-RMSNorm", "stands-on-apply_rope"}


@pytest.mark.slow("it searches for one edit, in vain")
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


GQA = "GroupedQueryAttention"
ON_TWO = {
    "right": ({"RMSNorm": "mean-subtracted", "SwiGLU": "sigmoid-gate"}, ["RMSNorm", "SwiGLU"], []),
    "right on a wrong one between": (
        {"RMSNorm": "mean-subtracted", "GroupedQueryAttention": "no-scale"},
        ["RMSNorm", GQA],
        [],
    ),
    "what looks like its own": (
        {"RMSNorm": "eps-of-1e-5", "GroupedQueryAttention": "no-scale"},
        ["RMSNorm", GQA],
        [],
    ),
    "wrong itself": (
        {"RMSNorm": "eps-of-1e-5", "SwiGLU": "sigmoid-gate", "Block": "attention-without-residual"},
        ["RMSNorm", "SwiGLU"],
        ["attention-without-residual"],
    ),
    "what hides another one": ({"RMSNorm": "eps-of-1e-5", "GroupedQueryAttention": "returns-a-pair"}, [GQA], []),
    "with one symptom": (
        {"SwiGLU": "super-forgotten", "GroupedQueryAttention": "super-forgotten", "Block": "parallel"},
        ["SwiGLU", GQA],
        ["parallel"],
    ),
    "with a price that is found later": (
        {"SwiGLU": "two-thirds", "RMSNorm": "mean-subtracted", "Block": "attention-without-residual"},
        ["SwiGLU"],
        ["attention-without-residual"],
    ),
}


@pytest.mark.slow("it grades with several parts replaced")
@pytest.mark.parametrize("wrong, bases, own", ON_TWO.values(), ids=ON_TWO)
def test_what_only_several_right_parts_make_right_is_paid_at_these(grader, handed_in, wrong, bases, own):
    """With a right one in the place of either, checks still fail by the other."""
    (part, mistake), *others = wrong.items()
    verdict = grader.grade_file(handed_in(part, mistake, **dict(others)), seed=1).verdict
    outcome = verdict.exercise("Block")
    told = [(one.id, one.price) for one in outcome.diagnosis]
    assert told == [*((f"stands-on-{base}", 0.0) for base in bases), *((id, PRICES["values"]) for id in own)]
    assert outcome.by_prices == pytest.approx(outcome.max_score * (1 - PRICES["values"] * len(own)))


NO_NAME = {  # slips that have no name, and that one edit mends
    "RMSNorm": ("(mean + self.eps)", "(mean * 1.21 + self.eps)"),
    "SwiGLU": ("F.silu(self.W_gate(x))", "F.silu(self.W_gate(x) * 1.3)"),
}


@pytest.mark.parametrize(
    "parts, named",
    [
        (["SwiGLU"], {}),
        (["RMSNorm", "SwiGLU"], {}),
        (["SwiGLU"], {GQA: (" / self.head_dim**0.5", "")}),
    ],
    ids=["one", "two", "one beside a named mistake"],
)
def test_what_is_right_on_parts_with_one_edit_each_is_paid_at_these(grader, tmp_path, parts, named):
    """The attention on such a norm is right, and not blamed."""
    notebook = load(ROOT / "solutions" / LESSON / f"{LESSON}.ipynb")
    for part, (old, new) in {**{part: NO_NAME[part] for part in parts}, **named}.items():
        cell = cell_of(notebook, f"{part}-solution")
        assert "".join(cell["source"]).count(old) == 1
        cell["source"] = "".join(cell["source"]).replace(old, new)
    verdict = grader.grade_file(hand_in(notebook, tmp_path, f"{LESSON}.ipynb"), seed=1).verdict
    assert all(verdict.exercise(part).diagnosis[0].id == repair.ID for part in parts)
    told = [(one.id, one.price) for one in verdict.exercise("Block").diagnosis]
    assert told == [(f"stands-on-{part}", 0.0) for part in [*parts, *named]]


def test_a_part_that_is_not_graded_itself_is_not_blamed_for_the_parts_below_it(grader, handed_in):
    path = handed_in("RMSNorm", "eps-of-1e-5", SwiGLU="input-added")
    (outcome,) = grader.grade_file(path, "Block", seed=1).verdict.exercises
    told = [(one.id, one.price) for one in outcome.diagnosis]
    assert told == [("stands-on-RMSNorm", 0.0), ("stands-on-SwiGLU", 0.0)]


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
