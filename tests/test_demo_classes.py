"""The demo's class of each assignment comes out as it was noted beforehand. `make demo` grades them in a course."""

import pytest
from conftest import ROOT

from autograder import course
from autograder.demo import made_up, run
from autograder.verdict import CREDIT


@pytest.mark.drawn(1, "classes of the demo", by=lambda name: name[:2])
@pytest.mark.parametrize("name", course.assignments())
def test_each_exercise_comes_out_as_noted(grader, tmp_path, name):
    """But for what is no notebook, which the demo's own test hands in."""
    assignment, surprises = course.assignments()[name], []
    students = [student for student in made_up.read_class(assignment) if student.raw is None]
    (tmp_path / "release").symlink_to(ROOT / "release")
    run.hand_in(tmp_path, assignment, students)
    for student in students:
        path = tmp_path / "submitted" / student.name / name / f"{name}.ipynb"
        found = (one.credited(CREDIT) for one in grader.grade_file(path, seed=1).verdict.exercises)
        outcomes = {one.exercise: one for one in found}
        for exercise, expected in student.expected.items():
            if not run.fits(outcomes[exercise], expected):
                surprises.append(
                    f"{student.name}, {exercise}: expected {expected}, got {run.describe(outcomes[exercise])}"
                )
    assert not surprises
