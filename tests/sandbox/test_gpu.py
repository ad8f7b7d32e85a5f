"""What only a real GPU can show: that right answers stay on it, in the sandbox too, and whose mistake it finds.

`make gpu` runs this and the hostile suite on it. Without a GPU it is skipped, and says so.
"""

import os
import runpy
from pathlib import Path

import pytest
import torch
from conftest import ROOT, cell_of, hand_in, load

from autograder import course
from autograder.checks.proxies import Local
from autograder.grading.grader import Grader
from autograder.grading.seeds import new_seed
from autograder.mistakes.bank import bank
from autograder.sandbox.inside import unavailable
from autograder.sandbox.parent import WarmParent

if not os.path.exists("/dev/nvidiactl"):
    pytest.skip("needs a GPU", allow_module_level=True)

SEED = new_seed()
ANSWERS = sorted((ROOT / "autograder" / "exercises").glob("*/answers/*.py"))
COMPUTING = [
    name for name in sorted(course.exercises(ROOT)) if not hasattr(course.module_of(name, "checks"), "NO_DEVICE")
]


def solution_of(exercise):
    name = course.find_exercise(exercise).assignment
    return ROOT / "solutions" / name / f"{name}.ipynb"


@pytest.fixture(scope="module")
def gpu():
    """A Grader whose sandbox may use the GPU."""
    with Grader(WarmParent(device="cuda")) as grader:
        yield grader


@pytest.mark.parametrize("assignment", sorted({course.find_exercise(name).assignment for name in COMPUTING}))
def test_a_solution_gets_full_marks_in_the_sandbox_and_all_is_tried_on_the_gpu(gpu, assignment):
    verdict = gpu.grade_file(ROOT / "solutions" / assignment / f"{assignment}.ipynb", seed=SEED).verdict
    assert verdict.full, verdict
    tried = {e.exercise for e in verdict.exercises if "test_cuda" in {check.name for check in e.checks}}
    assert tried == {e.exercise for e in verdict.exercises if e.exercise in COMPUTING}
    assert not [e.skipped for e in verdict.exercises if e.skipped]


@pytest.mark.parametrize("exercise", COMPUTING)
def test_a_mistake_of_devices_is_found_and_named_in_the_sandbox(gpu, tmp_path, exercise):
    wrong = bank(exercise)[bank(exercise).seen_on_a_gpu]
    notebook = load(solution_of(exercise))
    cell_of(notebook, f"{exercise}-solution")["source"] = "\n\n".join(filter(None, [wrong.beside, wrong.source]))
    path = hand_in(notebook, tmp_path, solution_of(exercise).name)
    (outcome,) = gpu.grade_file(path, exercise=exercise, seed=SEED).verdict.exercises
    assert "test_cuda" in {check.name for check in outcome.checks if not check.passed}
    assert wrong.id in {found.id for found in outcome.diagnosis}
    assert outcome.score < outcome.max_score


@pytest.mark.parametrize("path", ANSWERS, ids=lambda path: f"{path.parent.parent.name}/{path.stem}")
def test_a_right_answer_in_whatever_style_stays_on_the_gpu(graders, monkeypatch, path: Path):
    monkeypatch.setattr(torch, "compile", unavailable.uncompiled)  # as where students are graded
    run = graders.run(path.parent.parent.name, Local(runpy.run_path(str(path))), SEED)
    assert [check.message for check in run.failed()] == []
    assert ("test_cuda" in {check.name for check in run.checks}) == (path.parent.parent.name in COMPUTING)
