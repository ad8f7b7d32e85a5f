"""Lesson 06 as it is handed in and graded: the solution, the release, and a base from lesson 05 that is wrong."""

import pytest
from conftest import ROOT, cell_of, hand_in, load

NAME = "06_co_attention"
FILE = f"{NAME}.ipynb"


@pytest.fixture
def solution():
    return load(ROOT / "solutions" / NAME / FILE)


def test_the_solution_gets_full_marks_and_the_release_none(grader):
    for folder, share in (("solutions", 1), ("release", 0)):
        for result in grader.grade_file(ROOT / folder / NAME / FILE, seed=1).verdict.exercises:
            assert result.status == "graded"
            failed = [c.message for c in result.checks if not c.passed]
            assert result.score == share * result.max_score, (folder, result.exercise, failed)


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
