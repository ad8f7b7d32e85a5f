"""What the feedback on notebook 003's language model says: the cause first, the original by its name."""

import json
import re

import pytest
from conftest import ROOT
from sample import PARTS_OF_A_LESSON

from autograder.checks.proxies import Local
from autograder.mistakes.bank import bank

pytestmark = PARTS_OF_A_LESSON

NAME = "07_language_model"
MODEL = "BigramLanguageModel"
WHOLE = ("test_logits", "test_sizes_that_are_equal", "test_gradients")


@pytest.mark.parametrize("id", ["no-scale", "scale-by-embedding-width", "query-and-key-swapped", "mask-one-too-far"])
def test_wrong_heads_are_said_first(graders, id):
    failed = {c.name: c.message for c in graders.run(MODEL, Local(bank(MODEL)[id].namespace()), 1).failed()}
    for name in WHOLE:
        assert "First fix your `StackedHeads`" in failed[name]


@pytest.mark.parametrize(
    "id", ["positions-backwards", "no-positions", "residual", "heads-twice", "log-softmax-in-the-model"]
)
def test_right_heads_are_not_blamed(graders, id):
    failed = graders.run(MODEL, Local(bank(MODEL)[id].namespace()), 1).failed()
    assert failed and not any("First fix" in check.message for check in failed)


def test_the_original_is_named_crash_by_crash(grader, tmp_path):
    """Original 003, as it is released, then with its globals made parameters."""
    release = ROOT / "release" / NAME / f"{NAME}.ipynb"
    result = next(e for e in grader.grade_file(release, seed=1).verdict.exercises if e.exercise == MODEL)
    assert (result.score, result.diagnosis[-1].id) == (0, "original-003")
    cells = {
        c["id"]: "".join(c["source"])
        for c in json.loads((ROOT / "source" / NAME / f"{NAME}.ipynb").read_text())["cells"]
    }
    original = cells["model-solution"].split("### BEGIN ORIGINAL\n")[1].split("### END ORIGINAL")[0]
    parts = ["import torch\nfrom torch import nn\nimport torch.nn.functional as F\n"]
    parts += [cells["head-yours"], cells["stacked-yours"], re.sub("(?m)^# ?", "", original)]
    code = "\n".join(parts)
    too_long = "        if T > self.block_size:\n            raise ValueError(f'{T}, {self.block_size}')\n"
    refusal = "        if n_embd % num_heads:\n            raise ValueError(f'{n_embd} and {num_heads}')\n"
    for old, new in [
        ("def __init__(self):", "def __init__(self, vocab_size, n_embd, block_size, num_heads, dropout=0.0):"),
        ("StackedHeads(4, n_embd // 4)", "StackedHeads(num_heads, n_embd // num_heads, n_embd, block_size, dropout)"),
        ("        self.token_emb", refusal + "        self.block_size = block_size\n        self.token_emb"),
        ("device=device", "device=idx.device"),
        ("targets.view", "targets.reshape"),
        ("        tok_emb =", too_long + "        tok_emb ="),
    ]:
        assert old in code
        code = code.replace(old, new)
    (tmp_path / "mended.py").write_text(code)
    result = grader.grade_file(tmp_path / "mended.py", MODEL, seed=1).verdict.exercises[0]
    assert result.score == 7.5 and [d.id for d in result.diagnosis] == ["crashes-mended"]


def test_right_answers_pass_in_the_sandbox(grader):
    for path in sorted((ROOT / "autograder" / "exercises" / MODEL / "answers").glob("*.py")):
        result = grader.grade_file(path, MODEL).verdict.exercises[0]
        assert result.score == result.max_score, (path.stem, [c.message for c in result.checks if not c.passed])
