"""Where torch, or Triton's compiler, can't do one thing, the checks that need it are left out, and nothing else is."""

import re
import shutil

import one_process
import pytest
from conftest import ROOT
from lesser import SAYS, WITHOUT_HALF, WITHOUT_TRITONS_COMPILER, begun_with
from small_course import first

from autograder import course
from autograder.doctor import machine
from autograder.grading.grader import Grader
from autograder.mistakes.bank import bank

NAME = "01_first"
NEEDS = """

@check("numerics", points=1)
def test_half(submission, draw):
    '''Half precision in, half precision out.'''
    x = draw.normal(6, dtype=torch.float16)
    close(submission.function("rescale")(x), right(x), dtype=torch.float16)
"""
HALF = "torch can't compute with float16 on this machine"


@pytest.fixture(scope="module")
def lesser():
    with begun_with(WITHOUT_HALF) as parent:
        yield Grader(parent)


@pytest.fixture
def place(tmp_path):
    """A new course, of whose exercise one check needs half precision."""
    there = tmp_path / "course"
    first(there)
    with (there / "exercises" / "rescale" / "checks.py").open("a") as checks:
        checks.write(NEEDS)
    yield there
    course.forget()


@pytest.mark.parametrize("lesson", ["02_queries_keys_values", "08_modern_block"])
def test_a_right_answer_gets_all_points_of_the_checks_that_are_left(lesson, lesser):
    verdict = lesser.grade_file(ROOT / "solutions" / lesson / f"{lesson}.ipynb", seed=1).verdict
    assert verdict.full
    left_out = {(one.exercise, skipped["name"]) for one in verdict.exercises for skipped in one.skipped}
    left_out -= {(exercise, "test_cuda") for exercise, _ in left_out}
    worth = lesser.worth()
    for outcome in verdict.exercises:
        assert all(skipped["message"].endswith((f"{HALF}.", "no GPU on this machine.")) for skipped in outcome.skipped)
        assert sum(check.points for check in outcome.checks) == pytest.approx(worth[outcome.exercise], abs=1e-3)
    assert len(left_out) >= 3 and {name for _, name in left_out} >= {"test_dtypes"}


def test_a_wrong_answer_loses_what_it_loses_elsewhere_and_is_named(lesser, tmp_path):
    (tmp_path / "answer.py").write_text(
        "import math\nimport torch\nimport torch.nn.functional as F\n" + bank("attention")["no-scale"].source
    )
    (outcome,) = lesser.grade_file(tmp_path / "answer.py", exercise="attention", seed=1).verdict.exercises
    assert 0 < outcome.by_checks < outcome.max_score and [one.id for one in outcome.diagnosis] == ["no-scale"]


def test_the_same_is_left_out_when_requests_are_sent_together(lesser):
    path = ROOT / "solutions" / "02_queries_keys_values" / "02_queries_keys_values.ipynb"
    first, *others = [lesser.grade_file(path, seed=7).verdict for _ in range(3)]
    assert ("02_queries_keys_values", 7) in lesser.learnt
    assert all(other.exercises == first.exercises for other in others)


def test_build_and_grade_say_what_is_left_out_and_why(place, lesser, capsys):
    with one_process.kit(lesser) as run:
        assert run(place, "build") == 0
        said = f"test_half of rescale can't be tried here, and the points go to its other checks: {HALF}."
        assert f"{NAME}: {said}" in capsys.readouterr().out
        there = place / "submitted" / "ada" / NAME
        shutil.copytree(place / "solutions" / NAME, there)
        assert run(place, "grade", "01", "--jobs", "1") == 0
        out, err = capsys.readouterr()
        assert re.search(r"ada +4/4", out) and said in err
        assert run(place, "check", str(there / f"{NAME}.ipynb")) == 0
        assert f"Half precision in, half precision out. Not tried: {HALF}." in capsys.readouterr().out


def test_a_visible_check_that_needs_it_is_left_out_too(place, lesser, capsys):
    path = place / "source" / NAME / f"{NAME}.ipynb"
    text = path.read_text(encoding="utf-8")
    before = '"### BEGIN HIDDEN TESTS'
    assert text.count(before) == 1
    path.write_text(text.replace(before, f'"rescale(torch.ones(2, 2).half() @ torch.ones(2).half())\\n", {before}'))
    with one_process.kit(lesser) as run:
        assert run(place, "build") == 0
    assert f"{NAME}: the visible check of rescale can't be tried here: {HALF}." in capsys.readouterr().out


def test_a_solution_that_fails_a_check_is_refused_all_the_same(place, lesser, capsys):
    checks = place / "exercises" / "rescale" / "checks.py"
    checks.write_text(checks.read_text().replace("return (x - x.min())", "return 1 + (x - x.min())"))
    with one_process.kit(lesser) as run:
        assert run(place, "build") == 2
    assert "the solution of rescale in source/ does not get full marks" in capsys.readouterr().err


def test_an_exercise_of_which_nothing_is_left_is_refused(place, lesser, capsys):
    checks = place / "exercises" / "rescale" / "checks.py"
    text = checks.read_text()
    checks.write_text(re.sub(r"points=\d\)\ndef test_(values|numbers)", r"points=0)\ndef test_\1", text))
    with one_process.kit(lesser) as run:
        assert run(place, "build") == 2
    said = capsys.readouterr().err
    assert "none of the checks of rescale that give points can be tried on this machine" in said and HALF in said


def test_the_doctor_says_it(lesser, monkeypatch):
    from autograder.sandbox import parent

    monkeypatch.setattr(parent, "WarmParent", lambda **options: one_process.Shared(lesser.parent))
    monkeypatch.setattr(one_process.Shared, "__enter__", lambda self: self, raising=False)
    monkeypatch.setattr(one_process.Shared, "__exit__", lambda self, *exc: None, raising=False)
    (found,) = machine._computing()
    assert found.well is None and "can't compute with float16" in found.says and SAYS in found.says


@pytest.mark.slow("it starts a grader that lacks something")
def test_kernels_are_graded_without_their_compiler():
    lesson = "11_a_kernel"
    with begun_with(WITHOUT_TRITONS_COMPILER) as parent:
        verdict = Grader(parent).grade_file(ROOT / "solutions" / lesson / f"{lesson}.ipynb", seed=1).verdict
    assert verdict.full
    for outcome in verdict.exercises:
        (untried,) = (one for one in outcome.skipped if one["name"] == "test_compiles")
        assert untried["message"].endswith("Triton's compiler can't be used on this machine.")
