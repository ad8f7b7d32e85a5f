"""An assignment that needs a module which is not installed: it is left out, and each command says so."""

import importlib.util
import json
from importlib import metadata

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
    needs = {name: {*map(course.module_of_need, a.needs)} for name, a in course.assignments(ROOT).items() if a.needs}
    assert needs == {LESSON: {"triton"}}


@pytest.mark.parametrize(
    "installed, said",
    [
        ({"triton": "3.7.0", "numpy": "2.5.2"}, None),
        ({"triton": "3.7.0+git1", "numpy": "2.5.2"}, None),
        ({"triton": "3.6.0", "numpy": "2.3.9"}, None),
        ({"triton": "3.6.0"}, None),  # and nothing says in which version NumPy is there
        ({"triton": "3.2.0", "numpy": "2.3.9"}, "needs triton>=3.3, and triton 3.2.0 is installed here: `pip install"),
        ({"triton": "3.6.0", "numpy": "2.5.2"}, "needs triton>=3.7 beside numpy 2.5.2, and triton 3.6.0 is installed"),
    ],
)
def test_the_versions_that_it_needs_are_known(monkeypatch, installed, said):
    """Triton's interpreter before 3.7 stops on NumPy 2.4: each right kernel would lose all its points."""

    def version(name):
        if name not in installed:
            raise metadata.PackageNotFoundError(name)
        return installed[name]

    monkeypatch.setattr(metadata, "version", version)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name)  # wherever Triton is missing, too
    problem = course.assignments(ROOT)[LESSON].lacks
    assert problem is None if said is None else problem.startswith(f"{LESSON} {said}")


@pytest.mark.parametrize(
    "needs", ["triton", [None], [""], ["nope.sub"], ["../x"], ["triton>=abc"], ["triton~=3.0"], ["triton beside"], 3]
)
def test_what_is_no_need_is_refused_where_the_notebook_is_read(tmp_path, needs):
    notebook = json.loads((ROOT / "source" / LESSON / f"{LESSON}.ipynb").read_text(encoding="utf-8"))
    notebook["metadata"]["needs"] = needs
    (tmp_path / "source" / LESSON).mkdir(parents=True)
    (tmp_path / "source" / LESSON / f"{LESSON}.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    with pytest.raises(CourseError, match="its metadata says that it needs"):
        course.assignments(tmp_path)


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
