"""The demo's class of each assignment comes out as it was noted beforehand. `make demo` grades them in a course."""

import json

import pytest
from conftest import ROOT

from autograder import course
from autograder.demo import made_up, run
from autograder.verdict import CREDIT


def handed_in(assignment, folder):
    """The notebooks of the class: (student, path). What is no notebook is for the demo's own test."""
    released = json.loads((ROOT / "release" / assignment.name / f"{assignment.name}.ipynb").read_text(encoding="utf-8"))
    for student in made_up.read_class(assignment):
        if student.raw is None:
            path = folder / student.name / f"{assignment.name}.ipynb"
            path.parent.mkdir()
            path.write_text(json.dumps(made_up.fill_in(released, student)), encoding="utf-8")
            yield student, path


@pytest.mark.parametrize("name", course.assignments())
def test_each_exercise_comes_out_as_noted(grader, tmp_path, name):
    surprises = []
    for student, path in handed_in(course.assignments()[name], tmp_path):
        found = (one.credited(CREDIT) for one in grader.grade_file(path, seed=1).verdict.exercises)
        outcomes = {one.exercise: one for one in found}
        for exercise, expected in student.expected.items():
            if not run.fits(outcomes[exercise], expected):
                surprises.append(
                    f"{student.name}, {exercise}: expected {expected}, got {run.describe(outcomes[exercise])}"
                )
    assert not surprises
