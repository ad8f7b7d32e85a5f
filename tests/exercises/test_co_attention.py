"""Lesson 06 as it is handed in and graded: a base from lesson 05 that is wrong, a first step without a guide."""

import pytest
from conftest import ROOT, cell_of, hand_in, load

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


def test_the_first_guide_layer_may_be_missing_or_idle(grader, tmp_path, solution):
    """Both ways to do without the first `W_g` get full marks; one that has an effect does not."""
    cell = cell_of(solution, "AlternatingCoAttention-solution")
    right = "".join(cell["source"])
    made = "self.steps = nn.ModuleList([GuidedStep(d, k) for _ in range(3)])"
    used = "self.steps[0](q)"
    assert made in right and used in right
    ways = {
        "missing": (right.replace(made, f"{made}; del self.steps[0].W_g"), True),
        "idle": (right.replace(used, "self.steps[0](q, torch.zeros_like(q[:, 0]))"), True),
        "used": (right.replace(used, "self.steps[0](q, q[:, 0])"), False),
    }
    for name, (cell["source"], full) in ways.items():
        path = hand_in(solution, tmp_path / name, FILE)
        result = grader.grade_file(path, "AlternatingCoAttention", seed=1).verdict.exercises[0]
        assert (result.score == result.max_score) == full, name
