"""Where an answer goes wrong, if no known mistake explains it."""

import pytest
from sample import LONG_DIAGNOSES

from autograder import course
from autograder.grading.seeds import new_seed
from autograder.mistakes.bank import bank
from autograder.mistakes.name_check import cells_for
from autograder.submission.restore import RestoredCell

pytestmark = LONG_DIAGNOSES

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


def test_no_place_is_told_where_a_wrong_base_is_all_that_is_wrong(grader):
    wrong, cells = bank("SwiGLU")["sigmoid-gate"].source, cells_for("Block", bank("Block").right)
    cells = [RestoredCell("code", wrong, "") if "class SwiGLU" in cell.source else cell for cell in cells]
    wanted = [course.exercises()[name] for name in ("SwiGLU", "Block")]
    of_base, outcome = grader.grade_cells(cells, wanted, SEED).verdict.exercises
    assert of_base.score < of_base.max_score and outcome.by_prices == outcome.max_score
    assert [one.id for one in outcome.diagnosis] == ["stands-on-SwiGLU"]
