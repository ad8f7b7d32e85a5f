"""Lesson 06 as it is handed in and graded: a base from lesson 05 that is wrong, a first step without a guide."""

import pytest
from conftest import ROOT, cell_of, hand_in, load
from sample import PARTS_OF_A_LESSON

from autograder.checks.proxies import Local
from autograder.checks.runner import Graders
from autograder.mistakes.bank import bank, edited, right_answer

pytestmark = PARTS_OF_A_LESSON

NAME = "06_co_attention"
FILE = f"{NAME}.ipynb"


@pytest.fixture
def solution():
    return load(ROOT / "solutions" / NAME / FILE)


def test_a_wrong_base_is_said_first(grader, tmp_path, solution):
    """The streams are right, and what they stand on has no scale."""
    cell = cell_of(solution, "cross-yours")
    right = "".join(cell["source"])
    cell["source"] = right.replace("/ keys.shape[-1] ** 0.5", "")
    assert cell["source"] != right
    path = hand_in(solution, tmp_path, FILE)
    result = grader.grade_file(path, "CoAttentionStreams", seed=1).verdict.exercises[0]
    assert 0 < result.score < result.max_score
    assert [d.id for d in result.diagnosis] == ["stands-on-MultiHeadCrossAttention", "no-scale"]
    assert result.by_prices == result.max_score, "the scale is paid for below"


def test_the_first_guide_layer_may_be_missing_or_idle(grader, tmp_path, solution):
    """Both ways to do without the first `W_g` get full marks; one that has an effect does not."""
    cell = cell_of(solution, "AlternatingCoAttention-solution")
    right = "".join(cell["source"])
    made = "self.steps = nn.ModuleList([GuidedStep(d, k) for _ in range(3)])"
    used = "self.steps[0](q, None, q_mask)"
    assert made in right and used in right
    ways = {
        "missing": (right.replace(made, f"{made}; del self.steps[0].W_g"), True),
        "idle": (right.replace(used, "self.steps[0](q, torch.zeros_like(q[:, 0]), q_mask)"), True),
        "used": (right.replace(used, "self.steps[0](q, q[:, 0], q_mask)"), False),
    }
    for name, (cell["source"], full) in ways.items():
        path = hand_in(solution, tmp_path / name, FILE)
        result = grader.grade_file(path, "AlternatingCoAttention", seed=1).verdict.exercises[0]
        assert (result.score == result.max_score) == full, name


def points(exercise, source):
    namespace = {"__name__": "student"}
    exec(compile(source, "<student>", "exec"), namespace)
    run = Graders().run(exercise, Local(namespace, source), 1)
    return sum(c.points for c in run.checks if c.passed)


@pytest.mark.parametrize("exercise", ["ParallelCoAttention", "AlternatingCoAttention"])
@pytest.mark.parametrize(
    "id",
    ["weights-first", "side-by-side", "weights-exchanged", "weights-keep-a-dimension", "summaries-keep-a-dimension"],
)
def test_the_order_of_outputs_costs_no_more_than_half(exercise, id):
    assert 4.5 <= points(exercise, f"{SETUP}{bank(exercise)[id].source}") < 9


@pytest.mark.parametrize("exercise", ["ParallelCoAttention", "AlternatingCoAttention"])
@pytest.mark.parametrize("id, least", [
    ("masks-not-taken", 8), ("masks-ignored", 8), ("masks-inverted", 8), ("mask-fills-with-ten-thousand", 8.5),
    ("nothing-left-is-nan", 8.5), ("masks-must-be-there", 5.5), ("mask-none-inverted", 5.5),
])  # fmt: skip
def test_masks_cost_no_more_than_they_are_about(exercise, id, least):
    assert least <= points(exercise, f"{SETUP}{bank(exercise)[id].source}") < 9


@pytest.mark.parametrize("id", ["masks-must-be-there", "mask-none-inverted", "output-projection-without-bias"])
def test_a_slip_in_the_streams_costs_no_more_than_half(id):
    assert 3 <= points("CoAttentionStreams", f"{SETUP}{bank('CoAttentionStreams')[id].source}") < 6


SETUP = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n"
AFFINITY = "C = torch.tanh(q @ self.W_b(v).transpose(1, 2))"
RARELY_WRONG = {
    "beyond 64 cells": {AFFINITY: f"{AFFINITY}\n        C = torch.cat([C[..., :64], C[..., 64:] / 2], -1)"},
    "beyond 8 items": {AFFINITY: f"{AFFINITY}\n        C = torch.cat([C[:8], C[8:] / 2])"},
    "in eval mode": {AFFINITY: f"{AFFINITY} * (1 if self.training else 0.9)"},
    "dropout": {AFFINITY: f"{AFFINITY}\n        C = torch.dropout(C, 0.1, self.training)"},
}


@pytest.mark.parametrize("rarely", RARELY_WRONG)
def test_what_is_rarely_wrong_loses_points_and_not_all(rarely):
    right = right_answer("ParallelCoAttention", "helper")
    assert 4.5 <= points("ParallelCoAttention", edited(right, RARELY_WRONG[rarely], rarely)) < 9
