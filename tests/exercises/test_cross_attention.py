"""Cross-attention in the sandbox: right answers pass, the release gets nothing, and feedback starts with the cause."""

import json

import pytest
from conftest import ROOT
from sample import PARTS_OF_A_LESSON

from autograder import course
from autograder.checks.proxies import Local
from autograder.checks.runner import Graders
from autograder.demo import run as demo
from autograder.mistakes.bank import bank, edited, right_answer

pytestmark = PARTS_OF_A_LESSON

NAME = "05_cross_attention"
HONEST = ROOT / "autograder" / "exercises"
EXERCISES = [e.name for e in course.assignments(ROOT)[NAME].exercises]


@pytest.fixture
def demo_student(tmp_path):
    """The notebook of a student of the demo's class, by name."""

    def hand_in(name):
        student = next(s for s in demo.read_class(course.assignments(ROOT)[NAME]) if s.name == name)
        release = json.loads((ROOT / "release" / NAME / f"{NAME}.ipynb").read_text(encoding="utf-8"))
        path = tmp_path / f"{name}.ipynb"
        path.write_text(json.dumps(demo.fill_in(release, student)), encoding="utf-8")
        return path

    return hand_in


def test_the_release_gets_nothing_and_hears_why(grader):
    graded = grader.grade_file(ROOT / "release" / NAME / f"{NAME}.ipynb", seed=1)
    results = {e.exercise: e for e in graded.verdict.exercises}
    assert list(results) == EXERCISES
    assert sum(e.score for e in results.values()) == 0
    assert [d.id for d in results["EncoderHead"].diagnosis] == ["original-003"]


@pytest.mark.parametrize("exercise", EXERCISES)
def test_right_answers_pass_in_the_sandbox(grader, exercise):
    styles = sorted((HONEST / exercise / "answers").glob("*.py"), key=lambda path: path.stem not in ("plain", "sdpa"))
    for path in styles[:2]:
        result = grader.grade_file(path, exercise).verdict.exercises[0]
        assert result.score == result.max_score, (path.stem, [c.message for c in result.checks if not c.passed])


def test_a_wrong_attention_is_said_first(grader, demo_student):
    """Both layers stand on an `attention` without a scale: that is said first, and some points are left."""
    results = {e.exercise: e for e in grader.grade_file(demo_student("hugo"), seed=1).verdict.exercises}
    for exercise in ("CrossAttention", "MultiHeadCrossAttention"):
        assert [d.id for d in results[exercise].diagnosis] == ["stands-on-attention", "no-scale"]
        assert 0 < results[exercise].score < results[exercise].max_score
    assert results["EncoderHead"].status == "error"


def test_what_two_exercises_stand_on_is_graded_once(grader, demo_student, monkeypatch):
    graded, run = [], grader.graders.run

    def noted(name, transport, *args, **options):
        graded.extend([] if isinstance(transport, Local) else [name])  # mistakes are tried on Locals
        return run(name, transport, *args, **options)

    monkeypatch.setattr(grader.graders, "run", noted)
    grader.grade_file(demo_student("hugo"), seed=1)
    assert graded.count("attention") == 1


@pytest.mark.parametrize("id", ["causal", "no-scale", "context-mask-ignored", "nothing-left-is-nan"])
def test_one_mistake_does_not_cost_everything(id):
    graders = Graders()
    for exercise in ("CrossAttention", "MultiHeadCrossAttention"):
        run = graders.run(exercise, Local(bank(exercise)[id].namespace()), 1)
        assert 1 <= sum(c.points for c in run.checks if c.passed) < 9


def points(exercise, source):
    run = Graders().run(exercise, Local(namespace_of(source), source), 1)
    return sum(c.points for c in run.checks if c.passed)


def namespace_of(source):
    namespace = {"__name__": "student"}
    exec(compile(source, "<student>", "exec"), namespace)
    return namespace


@pytest.mark.parametrize(
    "id, most",
    [("mask-none-indexed", 1), ("value-layer-as-wide-as-x", 3), ("context-mask-hides-queries", 4), ("mask-added", 4)],
)
def test_a_slip_costs_what_it_is_about(id, most):
    for exercise in ("CrossAttention", "MultiHeadCrossAttention"):
        assert 9 - most <= points(exercise, bank(exercise)[id].source) < 9


WEIGH = "weights = torch.softmax(scores, dim=-1)"
RARELY_WRONG = {
    "beyond 64 keys": {WEIGH: f"scores[..., 64:] = scores[..., 64:] / 2\n        {WEIGH}"},
    "beyond 32 queries": {WEIGH: f"scores[..., 32:, :] = scores[..., 32:, :] / 2\n        {WEIGH}"},
    "beyond 8 items": {WEIGH: f"scores[8:] = scores[8:] / 2\n        {WEIGH}"},
    "no mask in eval mode": {
        "if context_mask is not None and": "context_mask = context_mask if self.training else None\n"
        "        if context_mask is not None and"
    },
    "dropout": {WEIGH: f"{WEIGH}\n        weights = torch.dropout(weights, 0.1, self.training)"},
}


@pytest.mark.parametrize("exercise", ["CrossAttention", "MultiHeadCrossAttention"])
@pytest.mark.parametrize("rarely", RARELY_WRONG)
def test_what_is_rarely_wrong_loses_points_and_not_all(exercise, rarely):
    right = right_answer(exercise, "step_by_step")
    assert 4.5 <= points(exercise, edited(right, RARELY_WRONG[rarely], rarely)) < 9
