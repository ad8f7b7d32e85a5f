"""Each exercise is graded in the world of its check cell: later cells neither take points nor give any."""

import subprocess
import sys

import pytest
from conftest import ROOT, cell_of, hand_in, load

from autograder.mistakes import repair
from autograder.verdict import Verdict

LESSON = "03_causal_attention"
RESET = {
    "magic": "%reset -f",
    "loop": "for name in [n for n in globals() if not n.startswith('_')]:\n    del globals()[name]",
    "built-ins": "import builtins\nbuiltins.isinstance = builtins.len = None",
    "torch's own": "import torch\ntorch.tensor = torch.ones = torch.Tensor.masked_fill = None",
}
LATER = {
    "helper again": ("def scaled(x, by):\n    return x", "gives another meaning to `scaled`"),
    "module's name": ("import numpy as np\nF = np.arange(9)", "gives another meaning to `F`"),
    "constant": ("SCALE = 100.0", "gives another meaning to `SCALE`"),
    "list emptied": ("SHAPES.clear()", "changes `SHAPES`"),
    "deleted": ("del scaled, SCALE", "deletes `SCALE` and `scaled`"),
    "loop variable": ("for SCALE in range(3):\n    pass", "gives another meaning to `SCALE`"),
    "class attribute": ("Scale.power = -2.0", "changes `Scale`"),
    "model trained": ("with torch.no_grad():\n    FACTOR.weight.fill_(7.0)", "changes `FACTOR`"),
}
HELPERS = """SCALE, SHAPES = 1.0, [0]
class Scale:
    power = 0.0
FACTOR = nn.Linear(1, 1)
with torch.no_grad():
    FACTOR.weight.fill_(1.0)
def scaled(x):
    if x.dim() != 3:
        raise ValueError(x.shape)
    return x * x.shape[-1] ** Scale.power * SCALE * FACTOR.weight.detach().item() + SHAPES[0]
"""
ANSWER = """def masked_weights(query, key):
    allowed = causal_mask(query.shape[1], device=query.device)
    return F.softmax((scaled(query) @ scaled(key).transpose(-2, -1)).masked_fill(~allowed, float("-inf")), dim=-1)
"""


def code(source):
    return {"cell_type": "code", "id": f"own-{abs(hash(source))}", "metadata": {}, "outputs": [], "source": source}


@pytest.fixture
def lesson():
    """The solution of lesson 03, with helpers for `masked_weights` in a cell of their own."""
    notebook = load(ROOT / "solutions" / LESSON / f"{LESSON}.ipynb")
    cell = cell_of(notebook, "masked_weights-solution")
    notebook["cells"].insert(notebook["cells"].index(cell), code(HELPERS))
    cell["source"] = ANSWER
    return notebook


def graded(grader, notebook, tmp_path, exercise=None):
    return grader.grade_file(hand_in(notebook, tmp_path, f"{LESSON}.ipynb"), exercise, 7)


@pytest.mark.parametrize("later, note", LATER.values(), ids=LATER)
def test_a_later_cell_takes_no_points_from_a_right_answer(grader, lesson, tmp_path, later, note):
    lesson["cells"].append(code(later))
    (outcome,) = graded(grader, lesson, tmp_path, "masked_weights").verdict.exercises
    assert outcome.full
    number = sum(cell["cell_type"] == "code" for cell in lesson["cells"])
    where = "A later cell" if note.startswith("changes") else f"Code cell {number}"
    assert [one.split(":")[0].split(", which")[0] for one in outcome.notes] == [f"{where} {note}"]


@pytest.mark.parametrize("later", RESET.values(), ids=RESET)
def test_nor_does_one_that_takes_all_away(grader, lesson, tmp_path, later):
    lesson["cells"].append(code(later))
    verdict = graded(grader, lesson, tmp_path).verdict
    assert verdict.full and len(verdict.exercises) > 4


def test_a_later_cell_makes_no_wrong_answer_right(grader, lesson, tmp_path):
    """In Jupyter its check fails as well: Run All gets there first."""
    helpers = next(cell for cell in lesson["cells"] if cell["source"] == HELPERS)
    helpers["source"] = HELPERS.replace("power = 0.0", "power = 0.5")
    lesson["cells"].append(code("Scale.power = 0.0"))
    (outcome,) = graded(grader, lesson, tmp_path, "masked_weights").verdict.exercises
    assert not outcome.full and outcome.notes


@pytest.mark.parametrize("later", ["pass", "F = 3", "%reset -f"])
def test_names_and_edits_start_from_the_same_world(grader, lesson, tmp_path, monkeypatch, later):
    tried = []
    monkeypatch.setattr(repair, "tries", lambda *given, tries=repair.tries: tried.append(given) or tries(*given))
    cell = cell_of(lesson, "masked_weights-solution")
    cell["source"] = ANSWER.replace("masked_fill(~allowed", "masked_fill(~~allowed")
    lesson["cells"].append(code(later))
    (outcome,) = graded(grader, lesson, tmp_path, "masked_weights").verdict.exercises
    assert [one.id for one in outcome.diagnosis] == ["mask-inverted"] and 0 < outcome.by_prices < outcome.max_score

    cell["source"] = ANSWER.replace("~allowed", "~(allowed | (scaled(key)[0] > 8))")  # a slip without a name
    (outcome,) = graded(grader, lesson, tmp_path, "masked_weights").verdict.exercises
    assert not outcome.full and bool(tried)


@pytest.mark.parametrize("later", ["pass", "F = nn = 3", "%reset -f"])
def test_what_depends_on_a_wrong_answer_starts_from_the_same_world(grader, lesson, tmp_path, later):
    mask = cell_of(lesson, "causal_mask-solution")
    mask["source"] = "def causal_mask(t, device=None):\n    return torch.ones(t, t, dtype=torch.bool).triu()"
    lesson["cells"].append(code(later))
    verdict = graded(grader, lesson, tmp_path).verdict
    weights = verdict.exercise("masked_weights")
    assert weights.diagnosis[0].id == "stands-on-causal_mask" and weights.by_prices == weights.max_score


def test_no_output_shows_what_checks_have_asked(grader, lesson, tmp_path):
    """A cell between two exercises runs before the checks of the first, also where each is graded in its place."""
    cell = cell_of(lesson, "causal_mask-solution")
    cell["source"] += "\n\nasked, mask_of = [], causal_mask\ndef causal_mask(t, device=None):\n"
    cell["source"] += "    asked.append(t)\n    return mask_of(t, device)\n"
    shown = code("asked_of = list(asked)\nprint('asked:', asked)\nif asked: raise ValueError(asked)")
    lesson["cells"].insert(lesson["cells"].index(cell_of(lesson, "masked_weights-solution")), shown)
    lesson["cells"].append(code("F = mask_of = None"))
    result = graded(grader, lesson, tmp_path)
    texts = [str(output) for outputs in result.outputs.values() for output in outputs]
    assert any("asked: []" in text for text in texts) and not any("ValueError" in text for text in texts)
    assert result.verdict.full


def test_no_cell_sees_what_checks_have_left(grader, lesson, tmp_path):
    """A cell between two exercises that holds in Run All holds here, too."""
    cell = cell_of(lesson, "causal_mask-solution")
    cell["source"] += "\n\nsizes, mask_of = [], causal_mask\ndef causal_mask(t, device=None):\n"
    cell["source"] += "    sizes.append(t)\n    return mask_of(t, device)\n"
    between = code("assert not sizes\nscaled_again = scaled")
    weights = cell_of(lesson, "masked_weights-solution")
    lesson["cells"].insert(lesson["cells"].index(weights), between)
    weights["source"] = ANSWER.replace("scaled(", "scaled_again(")
    lesson["cells"].append(code("mask_of = F = None"))
    verdict = graded(grader, lesson, tmp_path).verdict
    assert verdict.exercise("causal_mask").full and verdict.exercise("masked_weights").full


def test_a_helper_below_the_check_still_counts_and_is_named(grader, lesson, tmp_path):
    cells = lesson["cells"]
    helpers = next(cell for cell in cells if cell["source"] == HELPERS)
    cells.remove(helpers)
    cells.append(helpers)
    (outcome,) = graded(grader, lesson, tmp_path, "masked_weights").verdict.exercises
    (note,) = outcome.notes
    assert outcome.full and "defines `scaled` below the check of `masked_weights`, so Run All may stop there" in note


@pytest.mark.parametrize("helpers_at", ["above", "below"])
def test_a_check_cell_that_was_removed_is_where_the_answer_ends(grader, lesson, tmp_path, helpers_at):
    """The kit puts it back there; it is no fault of the student's what is below it."""
    cells = lesson["cells"]
    cells.remove(cell_of(lesson, "masked_weights"))
    helpers = next(cell for cell in cells if cell["source"] == HELPERS)
    if helpers_at == "below":
        cells.append(cells.pop(cells.index(helpers)))
    else:
        cells.append(code("F = 3"))
    (outcome,) = graded(grader, lesson, tmp_path, "masked_weights").verdict.exercises
    assert outcome.full and len(outcome.notes) == (helpers_at == "above")


def test_exercises_that_are_graded_in_their_places_have_a_child_each(grader, lesson, tmp_path, monkeypatch):
    forks, fork = [], grader.parent.fork
    monkeypatch.setattr(grader.parent, "fork", lambda: forks.append(1) or fork())
    for later in ("pass", "F = 3"):
        lesson["cells"].append(code(later))
        forks.clear()
        graded(grader, lesson, tmp_path)
        usual = usual if later != "pass" else len(forks)  # noqa: F821  the first round sets it
    assert usual < len(forks) <= usual + 6  # exercises of the lesson


def test_notes_are_kept_in_the_record(grader, lesson, tmp_path):
    lesson["cells"].append(code("F = 3"))
    verdict = graded(grader, lesson, tmp_path, "masked_weights").verdict
    assert Verdict.from_dict(verdict.to_dict()) == verdict and verdict.exercises[0].notes


def test_plain_pytest_sees_the_same_world(lesson, tmp_path):
    lesson["cells"].append(code("F = nn = 3\ndef scaled(x):\n    return 0 * x"))
    path = hand_in(lesson, tmp_path, f"{LESSON}.ipynb")
    checks = ROOT / "autograder" / "exercises" / "masked_weights"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(checks), "--submission", str(path)]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 0 and "passed" in ran.stdout, ran.stdout + ran.stderr
