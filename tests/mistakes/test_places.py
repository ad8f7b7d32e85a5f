"""Where an answer goes wrong, if no known mistake explains it."""

import pytest

from autograder.grading.seeds import new_seed
from autograder.mistakes.bank import bank

SEED = new_seed()  # one for all, so that what the mistakes do on its inputs is found out once
RIGHT = bank("attention").right
CLEARED = "weights = weights.masked_fill(~has_a_key, 0.0)"


@pytest.mark.parametrize(
    "old, new, places",
    [
        (CLEARED, CLEARED.replace("0.0", "0.3 + 0.4"), [("place-masking", "")]),
        ("@ key.tr", "@ key.no.tr", [("place-line", "scores = scaled_query @ key.no.transpose(-2, -1)")]),
        ("@ value, weights", "@ (value * value.abs().log() + 1), weights", [("place-values", "")]),
    ],
    ids=["masks", "one line", "values"],
)
def test_a_place(grader, tmp_path, old, new, places):
    assert old in RIGHT
    written = tmp_path / "attention.py"
    written.write_text("import torch\nimport torch.nn.functional as F\n" + RIGHT.replace(old, new))
    (outcome,) = grader.grade_file(written, "attention", SEED).verdict.exercises
    assert outcome.score < outcome.max_score
    assert [(one.id, one.line.split("  #")[0]) for one in outcome.diagnosis] == places, outcome.checks
    assert all(one.is_place for one in outcome.diagnosis)


def test_what_a_kernel_leaves_behind_is_not_meant(grader, tmp_path):
    pytest.importorskip("triton")
    right = bank("add_kernel").right
    twice = "x + y, mask=inside)\n    tl.store(out_ptr + places, x + y, mask=inside)"
    written = tmp_path / "add_kernel.py"
    written.write_text(right.replace("x + y, mask=inside)", twice))
    (outcome,) = grader.grade_file(written, "add_kernel", SEED).verdict.exercises
    (found,) = outcome.diagnosis
    says = found.message
    assert found.id == "place-mode" and "read and written" in says and "train" not in says, outcome.checks
