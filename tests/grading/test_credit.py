"""What scores are by is read from the text of the configuration: to run it takes seconds."""

import contextlib
from types import SimpleNamespace

import pytest
from conftest import hand_in, load

from autograder import course
from autograder.batch import gradescope
from autograder.cli import check
from autograder.errors import CourseError
from autograder.grading import credit, start
from autograder.grading.credit import of_course
from autograder.verdict import CHECKS, PRICES, Graded, Outcome, Verdict
from autograder.watch import service


@pytest.mark.parametrize(
    "text, by",
    [
        ("", PRICES),
        ('# c.Exercises.credit = "checks"', PRICES),
        ('c.Exercises.credit = "prices"', PRICES),
        ('c = get_config()\nc.Exercises.points = {"a": 2}\nc.Exercises.credit = "checks"', CHECKS),
    ],
)
def test_it_is_the_one_line_that_sets_it(tmp_path, text, by):
    assert of_course(tmp_path) == PRICES
    (tmp_path / "nbgrader_config.py").write_text(text)
    assert of_course(tmp_path) == by


@pytest.mark.parametrize(
    "text, problem",
    [
        ('c.Exercises.credit = "price"', "once, to"),
        ("c.Exercises.credit = ['prices']", "once, to"),
        ("c.Exercises.credit = chosen", "once, to"),
        ('c.Exercises.credit = "prices"\nc.Exercises.credit = "checks"', "once, to"),
        ("c.Exercises.credit = ", "cannot be read"),
    ],
)
def test_anything_else_is_one_sentence(tmp_path, text, problem):
    (tmp_path / "nbgrader_config.py").write_text(text)
    with pytest.raises(CourseError, match=problem):
        of_course(tmp_path)


class PricedGrader:
    """A grader whose verdict has more by prices than by checks."""

    def grade_file(self, path, exercise=None, seed=None):
        outcome = Outcome("causal_mask", 1.0, 3.0, "graded", by_prices=2.0)
        return Graded(Verdict(str(path), [outcome], 1, "03_causal_attention"))

    def grade_program(self, program, wanted, seed):
        return self.grade_file(program.path)


@pytest.mark.parametrize("by, score", [(CHECKS, 1.0), (PRICES, 2.0)])
def test_check_and_gradescope_score_as_the_course_does(tmp_path, monkeypatch, by, score):
    monkeypatch.setattr(credit, "of_course", lambda root: by)
    monkeypatch.setattr(start, "started_grader", lambda *where: contextlib.nullcontext(PricedGrader()))
    monkeypatch.setattr(service, "verdict_by_watch", lambda *asked: None)
    options = SimpleNamespace(device="cpu", sandbox="full", exercise=None, seed=1, paths=["answer.py"])
    assert [verdict.score for verdict, _ in check.checked(options)] == [score]
    assignment = course.assignments()["03_causal_attention"]
    hand_in(load(assignment.path), tmp_path)
    assert gradescope.grade(assignment, tmp_path, PricedGrader()).score == score
