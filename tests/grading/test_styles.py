"""Right answers in every style get full marks in the sandbox, too."""

from pathlib import Path

import pytest
from conftest import ROOT

ANSWERS = sorted((ROOT / "autograder" / "exercises").glob("*/answers/*.py"))


@pytest.mark.drawn(20, "right answers in the sandbox")
@pytest.mark.parametrize("path", ANSWERS, ids=lambda path: f"{path.parent.parent.name}-{path.stem}")
def test_right_answers_get_full_marks_in_the_sandbox(grader, path: Path):
    verdict = grader.grade_file(path, path.parent.parent.name).verdict
    assert verdict.full, [c.message for e in verdict.exercises for c in e.checks if not c.passed]
