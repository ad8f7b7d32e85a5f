"""Each exercise is graded in the world of its check cell: later cells neither take points nor give any."""

import subprocess
import sys

import pytest
from conftest import ROOT, cell_of, hand_in, load

from autograder.grading import workspace
from autograder.mistakes import repair
from autograder.verdict import Verdict

LATER_CELLS = pytest.mark.drawn(2, "later cells, in each of some tests", each="test")

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


@LATER_CELLS
@pytest.mark.parametrize("later, note", LATER.values(), ids=LATER)
def test_a_later_cell_takes_no_points_from_a_right_answer(grader, lesson, tmp_path, later, note):
    lesson["cells"].append(code(later))
    (outcome,) = graded(grader, lesson, tmp_path, "masked_weights").verdict.exercises
    assert outcome.full
    number = sum(cell["cell_type"] == "code" for cell in lesson["cells"])
    where = "A later cell" if note.startswith("changes") else f"Code cell {number}"
    assert [one.split(":")[0].split(", which")[0] for one in outcome.notes] == [f"{where} {note}"]


@LATER_CELLS
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


@LATER_CELLS
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


@LATER_CELLS
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


@LATER_CELLS
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


@LATER_CELLS
@pytest.mark.parametrize(
    "between, later, more",
    [
        ("pass", "F = scaled = 3\ndel nn", 0),  # names are given back
        ("pass", "%reset -f", 0),
        ("pass", "Scale.power = 3.0", 1),  # one child, since all that is changed was the same at all check cells
        ("pass", "F.linear = None", 1),  # below each answer that uses it
        ("F.linear = lambda x, w, b=None, linear=F.linear: linear(x, w, b)", "F.linear = None", 2),
    ],
)
def test_few_children_serve_all_exercises(grader, lesson, tmp_path, monkeypatch, between, later, more):
    forks, fork = [], grader.parent.fork
    monkeypatch.setattr(grader.parent, "fork", lambda: forks.append(1) or fork())
    monkeypatch.setattr(grader, "_learn_what_pays", lambda seed: None)  # in a child of its own
    lesson["cells"].insert(lesson["cells"].index(cell_of(lesson, "Head-solution")), code(between))
    lesson["cells"].append(code(later))
    assert graded(grader, lesson, tmp_path).verdict.full
    assert len(forks) == 1 + more


def test_an_exercise_is_not_graded_again_and_again_if_cells_take_long(grader, lesson, tmp_path, monkeypatch):
    """The verdict comes in time, and says of which exercises the cells were not run again."""
    monkeypatch.setattr(workspace, "AGAIN", 0.0)
    lesson["cells"].append(code("Scale.power = 3.0\nF = None"))
    result = graded(grader, lesson, tmp_path).verdict
    assert not result.exercise("masked_weights").full
    (note,) = [note for note in result.exercise("masked_weights").notes if "Scale" in note or "too long" in note]
    assert "Your cells take too long to run them again for `masked_weights`" in note
    assert result.exercise("padding_mask").full and result.exercise("causal_mask").full


LASTING = {
    "a function of torch's": "F.linear = lambda x, w, b=None: x[..., :1] * 0",
    "an operator of tensors": "torch.Tensor.__matmul__ = lambda self, other: torch.matmul(self, other) * 2",
    "a layer's call": "nn.Linear.__call__ = lambda self, x: x",
    "a module's new method": "nn.Module.float = nn.Module.__getattr__ = None",
    "an initialization": "torch.nn.init.kaiming_uniform_ = lambda t, a=0, **k: t.data.zero_()",
    "a hook on all modules": (
        "from torch.nn.modules.module import register_module_forward_hook\n"
        "register_module_forward_hook(lambda module, args, output: output.detach())"
    ),
    "a mode that is on": (
        "from torch.overrides import TorchFunctionMode\nclass Loud(TorchFunctionMode):\n"
        "    def __torch_function__(self, func, types, args=(), kwargs=None):\n"
        "        raise RuntimeError(func)\nLoud().__enter__()"
    ),
    "inference": "torch.inference_mode().__enter__()",
    "deterministic": "torch.use_deterministic_algorithms(True)\ntorch.set_default_dtype(torch.float64)",
    "recursion": "import sys\nsys.setrecursionlimit(70)",
    "no gradients": "torch._C._set_grad_enabled(False)\ntorch.set_default_device('meta')",
}


@LATER_CELLS
@pytest.mark.parametrize("later", LASTING.values(), ids=LASTING)
def test_what_a_later_cell_does_to_torch_takes_no_points(grader, lesson, tmp_path, later):
    lesson["cells"].append(code(later))
    verdict = graded(grader, lesson, tmp_path).verdict
    assert verdict.full and len(verdict.exercises) > 4


def test_what_checks_build_beside_the_answer_is_as_it_was(grader, tmp_path):
    lesson = load(ROOT / "solutions" / "04_multi_head_attention" / "04_multi_head_attention.ipynb")
    lesson["cells"].append(code("del F, nn\nMultiHeadAttention.forward = None"))
    path = hand_in(lesson, tmp_path, "04_multi_head_attention.ipynb")
    (outcome,) = grader.grade_file(path, "load_from_torch", 7).verdict.exercises
    assert outcome.full


def unmarked(lesson):
    for cell in lesson["cells"]:
        cell["metadata"] = {}
        cell.pop("id", None)
    lesson["nbformat_minor"] = 4


def with_longer_checks(lesson):
    unmarked(lesson)
    for cell in lesson["cells"]:
        if "The visible check passes." in "".join(cell["source"]):
            cell["source"] = "".join(cell["source"]) + "\nprint('and mine as well')"


def without_checks(lesson):
    unmarked(lesson)
    lesson["cells"] = [c for c in lesson["cells"] if "The visible check passes." not in "".join(c["source"])]


@LATER_CELLS
@pytest.mark.parametrize("copied", [unmarked, with_longer_checks, without_checks])
def test_a_copy_without_marks_is_graded_in_its_places_as_well(grader, lesson, tmp_path, copied):
    copied(lesson)
    lesson["cells"].append(code("F = 5\ndef scaled(x, by):\n    return x"))
    verdict = graded(grader, lesson, tmp_path).verdict
    assert verdict.full and len(verdict.exercises) > 4


SLOW = "import time\nclass Slow:\n    def {name}(self{more}):\n        time.sleep(30)\n{rest}\nTABLE = Slow()"
ODD = {
    "asked for anything": SLOW.format(name="__getattribute__", more=", name", rest=""),
    "asked for its class": SLOW.format(name="kind", more="", rest="    __class__ = property(kind)"),
    "asked for what it holds": SLOW.format(name="kind", more="", rest="    __dict__ = property(kind)"),
    "asked for its length": SLOW.format(name="__len__", more="", rest="    __iter__ = __eq__ = __hash__ = __len__"),
    "large": "TABLE = list(range(8_000_000))",
    "many texts": "TABLE = {str(i): [i] for i in range(500_000)}",
}


@LATER_CELLS
@pytest.mark.parametrize("table", ODD.values(), ids=ODD)
def test_no_object_makes_grading_slow(grader, lesson, tmp_path, table):
    lesson["cells"].insert(1, code(table))
    cell = cell_of(lesson, "masked_weights-solution")
    cell["source"] = ANSWER.replace("    allowed", "    TABLE\n    allowed", 1)
    result = graded(grader, lesson, tmp_path)
    assert result.verdict.full and not result.stopped


def test_notes_are_kept_in_the_record(grader, lesson, tmp_path):
    lesson["cells"].append(code("F = 3"))
    verdict = graded(grader, lesson, tmp_path, "masked_weights").verdict
    assert Verdict.from_dict(verdict.to_dict()) == verdict and verdict.exercises[0].notes


@pytest.mark.slow("it starts pytest, as those of test_plain_pytest.py do")
def test_plain_pytest_sees_the_same_world(lesson, tmp_path):
    lesson["cells"].append(code("F = nn = 3\ndef scaled(x):\n    return 0 * x"))
    path = hand_in(lesson, tmp_path, f"{LESSON}.ipynb")
    checks = ROOT / "autograder" / "exercises" / "masked_weights"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(checks), "--submission", str(path)]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 0 and "passed" in ran.stdout, ran.stdout + ran.stderr
