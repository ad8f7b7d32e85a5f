"""Grading through the sandbox: honest answers in every style, and honest notebooks in every state."""

from pathlib import Path

import pytest
from conftest import ROOT, cell_of, hand_in, load

HONEST = sorted((ROOT / "autograder" / "exercises").glob("*/answers/*.py"))


@pytest.mark.parametrize("path", HONEST, ids=lambda p: f"{p.parent.parent.name}-{p.stem}")
def test_honest_styles_get_full_marks_in_the_sandbox(grader, path: Path):
    verdict = grader.grade_file(path, path.parent.parent.name).verdict
    assert verdict.full, [c.message for e in verdict.exercises for c in e.checks if not c.passed]


def code(source):
    return {"cell_type": "code", "id": f"own-{abs(hash(source))}", "metadata": {}, "outputs": [], "source": source}


def test_later_experiments_do_not_replace_the_answer(grader, solution, tmp_path):
    solution["cells"].append(code("def attention(query, key, value, mask=None):\n    return None"))
    assert grader.grade_file(hand_in(solution, tmp_path)).verdict.full


def test_an_answer_below_its_test_counts(grader, solution, tmp_path):
    cell = cell_of(solution, "attention-solution")
    solution["cells"].append(code("".join(cell["source"])))
    cell["source"] = "# see below"
    assert grader.grade_file(hand_in(solution, tmp_path)).verdict.full


def test_feedback_gets_the_outputs(grader, solution, tmp_path):
    solution["cells"].append(code("print('seen')\nimport matplotlib.pyplot as plt\nplt.plot([1, 2])"))
    graded = grader.grade_file(hand_in(solution, tmp_path))
    outputs = graded.outputs[len(graded.cells) - 1]
    assert outputs[0]["text"] == "seen\n"
    assert any("image/png" in o.get("data", {}) for o in outputs)


def test_every_run_draws_new_inputs(grader, solution, tmp_path):
    path = hand_in(solution, tmp_path)
    assert grader.grade_file(path).verdict.seed != grader.grade_file(path).verdict.seed


@pytest.mark.parametrize("uses_it", [True, False])
def test_what_an_exercise_stands_on_is_named_first(grader, tmp_path, uses_it):
    """A wrong `attention` from lesson 02 is named before what follows from it, where it is used."""
    name = "03_causal_attention"
    notebook = load(ROOT / "solutions" / name / f"{name}.ipynb")
    cell_of(notebook, "attention-yours")["source"] = (
        "def attention(query, key, value, mask=None):\n"
        "    weights = F.softmax(query @ key.transpose(-2, -1), dim=-1)\n"
        "    return weights @ value, weights\n"
    )
    if not uses_it:
        cell_of(notebook, "CausalAttention-solution")["source"] = (
            '"""Not attention."""\n'
            + (ROOT / "autograder" / "exercises" / "CausalAttention" / "answers" / "loops.py").read_text()
        )
    verdict = grader.grade_file(hand_in(notebook, tmp_path, f"{name}.ipynb")).verdict
    outcome = verdict.exercise("CausalAttention")
    if uses_it:
        assert outcome.score < outcome.max_score and outcome.diagnosis[0].id == "stands-on-attention"
    else:
        assert outcome.score == outcome.max_score and not outcome.diagnosis


def test_an_answer_above_the_released_stub_is_told_that_the_last_definition_counts(grader, release, solution, tmp_path):
    own = {"cell_type": "code", "id": "own", "metadata": {}, "outputs": [], "execution_count": None}
    own["source"] = cell_of(solution, "attention-solution")["source"]
    at = release["cells"].index(cell_of(release, "attention-solution"))
    release["cells"].insert(at, own)
    outcome = grader.grade_file(hand_in(release, tmp_path), "attention").verdict.exercise("attention")
    (named,) = outcome.diagnosis
    assert outcome.score == 0 and named.id == "defined-twice"
    assert "You define `attention` twice, and the last definition counts" in named.message
    assert f"code cell {sum(c['cell_type'] == 'code' for c in release['cells'][: at + 1])}" in named.message
