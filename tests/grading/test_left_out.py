"""An assignment that needs a module which is not installed: it is left out, and each command says so."""

import importlib.util

import pytest
from conftest import ROOT

from autograder import course
from autograder.errors import CourseError
from autograder.grading import gate

LESSON = "11_a_kernel"
SAYS = "11_a_kernel needs the package triton, which is not installed here"


@pytest.fixture
def without_triton(monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *args: None if name == "triton" else find(name, *args)
    )


def test_one_lesson_needs_triton_and_the_others_nothing():
    assert {name: a.needs for name, a in course.assignments(ROOT).items() if a.needs} == {LESSON: ("triton",)}


def test_it_is_left_out_of_all_that_can_be_built(without_triton):
    complete, problems = course.complete(ROOT)
    assert [a.name for a in complete] == [name for name in course.assignments(ROOT) if name != LESSON]
    assert len(problems) == 1 and problems[0].startswith(SAYS)


def test_it_is_not_graded_even_if_it_has_passed_before(without_triton):
    with pytest.raises(CourseError, match=SAYS):
        gate.require(course.assignments(ROOT)[LESSON], None, {}, None, 0)


def test_a_notebook_of_it_gets_no_grade_and_not_0(without_triton, grader):
    with pytest.raises(CourseError, match=SAYS):
        grader.grade_file(ROOT / "release" / LESSON / f"{LESSON}.ipynb")


def test_a_file_of_another_exercise_is_graded(without_triton, grader, tmp_path):
    place = tmp_path / "mine.py"
    place.write_text("def causal_mask(t, device=None):\n    return None\n")
    verdict = grader.grade_file(place).verdict
    assert [e.exercise for e in verdict.exercises] == ["causal_mask"]
    place.write_text("x = 1\n")
    assert {e.status for e in grader.grade_file(place).verdict.exercises} == {"missing"}
