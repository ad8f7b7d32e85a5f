"""What scores are by is read from the text of the configuration: to run it takes seconds."""

import pytest

from autograder.errors import CourseError
from autograder.grading.credit import of_course
from autograder.verdict import CHECKS, PRICES


@pytest.mark.parametrize(
    "text, by",
    [
        ("", CHECKS),
        ('# c.Exercises.credit = "prices"', CHECKS),
        ('c.Exercises.credit = "prices"', PRICES),
        ('c = get_config()\nc.Exercises.points = {"a": 2}\nc.Exercises.credit = "checks"', CHECKS),
    ],
)
def test_it_is_the_one_line_that_sets_it(tmp_path, text, by):
    assert of_course(tmp_path) == CHECKS
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
